-- One row per current method, in the order of the leaderboard.
--
-- Of a method that is not applicable everywhere overall is what its differences to the others come to, without an
-- interval, as on the leaderboard.
--
-- Parameters (variables):
--   judge_id   judge version
select
    leaderboard.method,
    leaderboard.overall_for_rank as overall,
    if(leaderboard.is_partial, null, scored.ci_low) as ci_low,
    if(leaderboard.is_partial, null, scored.ci_high) as ci_high,
    fronts.cost,
    fronts.cost_in,
    fronts.on_front
from leaderboard
left join fronts using (judge_id, method_id)
left join leaderboard_long as scored
    on
        leaderboard.judge_id = scored.judge_id
        and leaderboard.method_id = scored.method_id
        and scored.dimension = 'overall'
where leaderboard.judge_id = getvariable('judge_id') and leaderboard.is_current
order by fronts.line nulls last, leaderboard.method
