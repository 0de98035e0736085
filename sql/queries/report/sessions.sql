-- One row per session with a scored question: how far apart it puts the methods, the farthest first.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
with probe_means as (
    select
        given.session_id,
        given.probe_id,
        given.method_id,
        avg(given.score) as score
    from int_answer_scores as given
    inner join stg_methods on given.method_id = stg_methods.method_id
    where
        given.judge_id = getvariable('judge_id')
        and given.dimension = 'overall'
        and stg_methods.is_current
        and not stg_methods.is_control
    group by given.session_id, given.probe_id, given.method_id
),

spreads as (
    select
        session_id,
        probe_id,
        stddev_pop(score) as spread
    from probe_means
    group by session_id, probe_id
),

asked as (
    select
        session_id,
        max(spread) as spread
    from spreads
    group by session_id
)

select
    sessions.session_id,
    sessions.title,
    sessions.source_format,
    sessions.task_type,
    sessions.n_messages,
    sessions.n_tokens,
    sessions.started_at,
    count(distinct points.point_id) as n_points,
    count(probes.probe_id) as n_probes,
    coalesce(any_value(asked.spread), 0) as spread
from sessions
inner join points on sessions.session_id = points.session_id
inner join probes on points.point_id = probes.point_id
left join asked on sessions.session_id = asked.session_id
group by all
order by round(coalesce(any_value(asked.spread), 0), 9) desc, sessions.session_id
