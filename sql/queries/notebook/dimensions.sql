-- One row per current method × dimension (and 'overall'), methods in the order of the leaderboard.
--
-- Parameters:
--   judge_id   judge version
select
    leaderboard_long.method,
    leaderboard_long.dimension,
    leaderboard_long.mean
from leaderboard_long
left join fronts using (judge_id, method_id)
where leaderboard_long.judge_id = $judge_id and leaderboard_long.is_current
order by fronts.line nulls last, leaderboard_long.method, leaderboard_long.dimension
