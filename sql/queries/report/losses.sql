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
        board.place,
        board.method,
        given.probe_id,
        avg(given.score) as score
    from int_answer_scores as given
    inner join board on given.method_id = board.method_id
    where given.judge_id = getvariable('judge_id') and given.dimension = 'overall'
    group by board.place, board.method, given.probe_id
),

lost as (
    select
        given.place,
        given.method,
        best.method as best,
        given.probe_id,
        given.score,
        best.score as best_score
    from probe_means as given
    inner join probe_means as best on given.probe_id = best.probe_id
    where best.place = 1 and given.place > 1 and round(best.score - given.score, 9) > 0
    qualify
        row_number() over (partition by given.place order by round(best.score - given.score, 9) desc, given.probe_id)
        = 1
)

select
    lost.place,
    lost.method,
    lost.best,
    lost.probe_id,
    probes.point_id,
    points.session_id,
    points.cycle,
    probes.probe_type,
    lost.score,
    lost.best_score,
    probes.question
from lost
inner join probes on lost.probe_id = probes.probe_id
inner join points on probes.point_id = points.point_id
order by lost.place
