-- One row per done compaction that was repeated: the first repetition of the method at the point with an equal context.
--
-- Contexts are read only where a method was repeated.
with repeated as (
    select distinct
        point_id,
        method_id
    from shard_compactions
    where
        replicate > 0
        and points_spec = getvariable('points_spec')
),

hashed as (
    select
        shard_compactions.compaction_id,
        shard_compactions.point_id,
        shard_compactions.method_id,
        shard_compactions.replicate,
        hash(shard_compactions.context) as context_hash
    from shard_compactions
    semi join repeated using (point_id, method_id)
    where
        shard_compactions.status = 'done'
        and shard_compactions.points_spec = getvariable('points_spec')
)

select distinct
    compaction_id,
    first_value(compaction_id) over (
        partition by point_id, method_id, context_hash order by replicate asc, compaction_id asc
    ) as first_id
from hashed
