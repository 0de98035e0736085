-- One row per compaction × probe whose facts were looked for in its context, of the measurements that are shown.
with found as (
    select
        shard_measures.compaction_id,
        unnest(shard_measures.facts) as fact
    from shard_measures
    semi join wanted_measures on shard_measures.measure_id = wanted_measures.measure_id
)

select
    compaction_id,
    fact.probe_id,
    fact.positions,
    fact.stated
from found
