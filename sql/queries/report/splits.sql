-- One row per split × part × method: the mean of overall there, with the interval; of
-- constraints their own.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    split,
    value as part,
    method,
    mean,
    ci_low,
    ci_high,
    n_answers,
    n_sessions
from agg_splits
where
    judge_id = getvariable('judge_id')
    and split in ('probe_type', 'task_type', 'length', 'source')
    and dimension = if(value = 'constraint' and split = 'probe_type', 'constraints', 'overall')
    and is_current
order by split, part, method
