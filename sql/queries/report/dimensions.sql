-- One row per method × dimension (and 'overall'): its mean with the interval.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    long.method,
    long.dimension,
    long.mean,
    long.ci_low,
    long.ci_high,
    long.n_answers,
    long.n_sessions
from leaderboard_long as long
left join leaderboard on long.judge_id = leaderboard.judge_id and long.method_id = leaderboard.method_id
left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
where long.judge_id = getvariable('judge_id') and long.is_current
order by fronts.line nulls last, long.method, long.dimension
