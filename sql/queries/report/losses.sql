-- One row per method below the first that is no control: the question on which it loses most against that one.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
with board as (
    select
        leaderboard.method_id,
        leaderboard.method,
        row_number() over (order by fronts.line nulls last, leaderboard.method) as place
    from leaderboard
    inner join stg_methods on leaderboard.method_id = stg_methods.method_id
    left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
    where leaderboard.judge_id = getvariable('judge_id') and stg_methods.is_current and not stg_methods.is_control
),

probe_means as (
    select
        given.probe_id,
        given.method_id,
        any_value(given.point_id) as point_id,
        any_value(given.session_id) as session_id,
        any_value(given.cycle) as cycle,
        any_value(given.probe_type) as probe_type,
        avg(given.score) as score
    from int_answer_scores as given
    where given.judge_id = getvariable('judge_id') and given.dimension = 'overall'
    group by given.probe_id, given.method_id
),

lost as (
    select
        other.place,
        other.method,
        best.method as best,
        given.probe_id,
        given.point_id,
        given.session_id,
        given.cycle,
        given.probe_type,
        given.score,
        probe_means.score as best_score
    from board as best
    inner join board as other on best.place < other.place
    inner join probe_means on best.method_id = probe_means.method_id
    inner join probe_means as given on other.method_id = given.method_id and probe_means.probe_id = given.probe_id
    where best.place = 1 and round(probe_means.score - given.score, 9) > 0
)

select
    lost.place,
    lost.method,
    lost.best,
    lost.probe_id,
    lost.point_id,
    lost.session_id,
    lost.cycle,
    lost.probe_type,
    lost.score,
    lost.best_score,
    probes.question
from lost
inner join probes on lost.probe_id = probes.probe_id
qualify
    row_number() over (partition by lost.method order by round(lost.best_score - lost.score, 9) desc, lost.probe_id) = 1
order by lost.place
