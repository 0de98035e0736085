-- One row per compaction × probe × replicate, of the compactions and probes that are shown.
select shard_answers.*
from shard_answers
semi join compactions on shard_answers.compaction_id = compactions.compaction_id
semi join probes on shard_answers.probe_id = probes.probe_id
where shard_answers.responder = getvariable('responder')
