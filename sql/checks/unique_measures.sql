-- A compaction is measured once.
select
    compaction_id,
    count(*) as n
from measures
group by compaction_id
having count(*) > 1
