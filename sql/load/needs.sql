-- One row per point × need, numbered from 1, of the points that are shown and their sessions as they are now.
with found as (
    select
        shard_needs.point_id,
        generate_subscripts(shard_needs.needs, 1) as number,
        unnest(shard_needs.needs) as need
    from shard_needs
    semi join measured_points on shard_needs.needs_id = measured_points.needs_id
)

select
    point_id,
    number,
    need.kind,
    need.value,
    need.observation_seq,
    need.observation_tokens,
    need.needed_at,
    need.turns_after
from found
