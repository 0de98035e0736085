-- One row per question with a score: how far apart it puts the methods that are no controls, the farthest first.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
with probe_means as (
    select
        given.probe_id,
        given.point_id,
        given.session_id,
        given.method_id,
        any_value(given.cycle) as cycle,
        avg(given.score) as score
    from int_answer_scores as given
    inner join stg_methods on given.method_id = stg_methods.method_id
    where
        given.judge_id = getvariable('judge_id')
        and given.dimension = 'overall'
        and stg_methods.is_current
        and not stg_methods.is_control
    group by given.probe_id, given.point_id, given.session_id, given.method_id
)

select
    probe_id,
    point_id,
    session_id,
    any_value(cycle) as cycle,
    stddev_pop(score) as spread,
    count(*) as n_methods
from probe_means
group by probe_id, point_id, session_id
order by round(stddev_pop(score), 9) desc, probe_id
