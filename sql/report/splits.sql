-- One row per split × part × method: the mean of overall there, with the interval.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
with parts as (
    select
        judge_id,
        'probe_type' as split,
        probe_type as part,
        method,
        dimension,
        mean,
        ci_low,
        ci_high,
        n_answers,
        n_sessions
    from leaderboard_by_probe_type
    where is_current
    union all
    select
        judge_id,
        'task_type' as split,
        task_type as part,
        method,
        dimension,
        mean,
        ci_low,
        ci_high,
        n_answers,
        n_sessions
    from leaderboard_by_task_type
    where is_current
    union all
    select
        judge_id,
        'length' as split,
        length as part,
        method,
        dimension,
        mean,
        ci_low,
        ci_high,
        n_answers,
        n_sessions
    from leaderboard_by_length
    where is_current
    union all
    select
        judge_id,
        'source' as split,
        source as part,
        method,
        dimension,
        mean,
        ci_low,
        ci_high,
        n_answers,
        n_sessions
    from leaderboard_by_source
    where is_current
)

select
    split,
    part,
    method,
    mean,
    ci_low,
    ci_high,
    n_answers,
    n_sessions
from parts
where judge_id = getvariable('judge_id') and dimension = 'overall'
order by split, part, method
