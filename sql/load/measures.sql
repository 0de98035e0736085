-- One row per measured compaction, of those that are shown, with its session and its probes as they are now.
select shard_measures.*
from shard_measures
semi join wanted_measures on shard_measures.measure_id = wanted_measures.measure_id
