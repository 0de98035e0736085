-- One row per compaction point of a session as it is now, by the study's rule for points, behind what it was given.
--
-- The variable session_ids has the sessions of a study that is limited to some; it is NULL for all.
with found as (
    select
        shard_points.session_id,
        shard_points.points_spec,
        sessions.n_given,
        unnest(shard_points.points) as point
    from shard_points
    inner join sessions using (session_id, content_sha256)
    where
        shard_points.points_spec = getvariable('points_spec')
        and (
            getvariable('session_ids') is null
            or list_contains(getvariable('session_ids'), shard_points.session_id)
        )
)

select
    point.point_id,
    session_id,
    point.cycle,
    point.cut_seq,
    point.tokens_before,
    points_spec
from found
where n_given = 0 or point.cut_seq > n_given
