-- One row per compaction × statement that was looked for in its context, of the measurements that are shown.
with found as (
    select
        shard_measures.compaction_id,
        shard_measures.session_id,
        unnest(shard_measures.states) as told
    from shard_measures
    semi join wanted_measures on shard_measures.measure_id = wanted_measures.measure_id
)

select
    compaction_id,
    session_id,
    told.probe_id,
    told.position,
    told.since,
    told.state,
    told.support,
    told.lines,
    told.with_fetched
from found
