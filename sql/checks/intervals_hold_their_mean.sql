-- A mean lies in its interval and within 0 to 5, and it has an interval when it is over more than one session and these
-- differ.
select
    judge_id,
    method_id,
    method,
    dimension,
    mean,
    std_error,
    ci_low,
    ci_high,
    n_clusters
from leaderboard_long
where
    mean not between 0 and 5
    or mean not between ci_low - 1e-9 and ci_high + 1e-9
    or (n_clusters > 1 and coalesce(std_error > 0, false)) <> (ci_low is not null and ci_high is not null)
    or (n_clusters > 1) <> (std_error is not null)
