-- One row per current method whose contexts were asked for the next tool call, the least change first.
select
    method,
    changed,
    noise,
    effect,
    ci_low,
    ci_high,
    p_adjusted,
    as_session,
    n_points,
    n_sessions
from next_action
where is_current
order by effect, method
