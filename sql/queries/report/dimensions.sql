-- One row per method × dimension (and 'overall'): its mean with the interval.
--
-- A method that is not applicable everywhere has a row of overall alone, without an interval: what its differences to
-- the others on the same questions come to, as on the leaderboard.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    long.method,
    long.dimension,
    if(leaderboard.is_partial, leaderboard.overall_for_rank, long.mean) as mean,
    if(leaderboard.is_partial, null, long.ci_low) as ci_low,
    if(leaderboard.is_partial, null, long.ci_high) as ci_high,
    long.n_answers,
    long.n_sessions
from leaderboard_long as long
left join leaderboard on long.judge_id = leaderboard.judge_id and long.method_id = leaderboard.method_id
left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
where
    long.judge_id = getvariable('judge_id')
    and long.is_current
    and (not leaderboard.is_partial or (long.dimension = 'overall' and leaderboard.overall_for_rank is not null))
order by fronts.line nulls last, long.method, long.dimension
