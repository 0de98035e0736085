-- What failed or is not applicable says why, and what is done has no error.
select
    'compactions' as table_name,
    compaction_id as id,
    status,
    error
from compactions
where (status <> 'done') <> (error is not null)
union all
select
    'answers' as table_name,
    answer_id as id,
    status,
    error
from answers
where (status = 'failed') <> (error is not null)
