-- The rows of a night: the figures of every judge × method × dimension, and the sums that changed.
--
-- It reads the database, `night_methods`, `night_changes` and `night_open`. Rows without a session are those of
-- `night_figures`, the others those of `night_sums`. Means are rounded for the same reason as the sums.
with next_night as (
    select coalesce(max(night), 0) + 1 as night from night_figures
)

select
    next_night.night,
    leaderboard_long.judge_id,
    leaderboard_long.method_id,
    night_methods.method,
    leaderboard_long.dimension,
    leaderboard_long.n_sessions,
    leaderboard_long.n_answers,
    null as session_id,
    null as content_sha256,
    null as score_sum,
    coalesce(leaderboard_long.judge, leaderboard_long.judge_id) as judge,
    round(leaderboard_long.mean, 12) as mean,
    round(leaderboard_long.std_error, 12) as std_error,
    case when leaderboard_long.dimension = 'overall' then leaderboard.rank end as rank,
    night_open.method is not null as is_open
from leaderboard_long
cross join next_night
inner join night_methods on leaderboard_long.method_id = night_methods.method_id
left join night_open
    on leaderboard_long.judge_id = night_open.judge_id and night_methods.method = night_open.method
left join leaderboard
    on leaderboard_long.judge_id = leaderboard.judge_id and leaderboard_long.method_id = leaderboard.method_id
union all by name
select
    next_night.night,
    night_changes.judge_id,
    null as method_id,
    night_changes.method,
    night_changes.dimension,
    null as n_sessions,
    night_changes.n_answers,
    night_changes.session_id,
    night_changes.content_sha256,
    night_changes.score_sum,
    null as judge,
    null as mean,
    null as std_error,
    null as rank,
    null as is_open
from night_changes
cross join next_night
