-- A responder answers a probe from a compaction once per replicate.
select
    compaction_id,
    probe_id,
    responder,
    replicate,
    count(*) as n_rows
from answers
group by compaction_id, probe_id, responder, replicate
having count(*) > 1
