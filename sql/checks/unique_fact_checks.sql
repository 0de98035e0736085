-- The facts of a probe are looked for once in a context.
select
    compaction_id,
    probe_id,
    count(*) as n
from fact_checks
group by compaction_id, probe_id
having count(*) > 1
