-- One row per compaction point of a session as it is now, by the study's rule for points.
with found as (
    select
        shard_points.session_id,
        shard_points.points_spec,
        unnest(shard_points.points) as point
    from shard_points
    semi join sessions
        on
            shard_points.session_id = sessions.session_id
            and shard_points.content_sha256 = sessions.content_sha256
    where shard_points.points_spec = getvariable('points_spec')
)

select
    point.point_id,
    session_id,
    point.cycle,
    point.cut_seq,
    point.tokens_before,
    points_spec
from found
