-- One row per point of a session with a scored question, in the order of the session.
--
-- Parameters (variables):
--   judge_id     judge version that the page is of
--   session_id   the session
select
    points.point_id,
    points.cycle,
    points.cut_seq,
    sessions.title,
    sessions.source_format,
    sessions.task_type
from points
inner join sessions on points.session_id = sessions.session_id
where
    points.session_id = getvariable('session_id')
    and points.point_id in (
        select given.point_id
        from int_answer_scores as given
        where
            given.judge_id = getvariable('judge_id')
            and given.session_id = getvariable('session_id')
            and given.dimension in ('overall', 'constraints')
    )
order by points.cycle, points.point_id
