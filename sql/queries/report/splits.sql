-- One row per split × part × method: the mean of overall there, with the interval; of
-- constraints their own.
--
-- A method that is not applicable everywhere has what its differences to the others on the same questions come to, and
-- no interval; no row where these are of fewer than five sessions.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    split,
    value as part,
    method,
    mean_for_rank as mean,
    if(mean_for_rank = mean, ci_low, null) as ci_low,
    if(mean_for_rank = mean, ci_high, null) as ci_high,
    n_answers,
    n_sessions
from agg_splits
where
    judge_id = getvariable('judge_id')
    and split in ('probe_type', 'task_type', 'length', 'source')
    and dimension = if(value = 'constraint' and split = 'probe_type', 'constraints', 'overall')
    and is_current
    and mean_for_rank is not null
order by split, part, method
