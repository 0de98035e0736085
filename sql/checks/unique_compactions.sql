-- compaction_id identifies a row of compactions.
select
    compaction_id,
    count(*) as n_rows
from compactions
group by compaction_id
having count(*) > 1
