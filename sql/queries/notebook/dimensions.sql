-- One row per current method × dimension (and 'overall'), methods in the order of the leaderboard.
--
-- Parameters (variables):
--   judge_id   judge version
select
    leaderboard_long.method,
    leaderboard_long.dimension,
    leaderboard_long.mean
from leaderboard_long
left join fronts
    on leaderboard_long.judge_id = fronts.judge_id and leaderboard_long.method_id = fronts.method_id
where leaderboard_long.judge_id = getvariable('judge_id') and leaderboard_long.is_current
order by fronts.line nulls last, leaderboard_long.method, leaderboard_long.dimension
