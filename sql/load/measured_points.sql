-- One row per compaction point: what the ids of its measurements are made of.
--
-- Measurements are of a session as it is, and follow the facts of the probes that were asked until the point, in the
-- order of the points and of the types. The ids are worked out as in flows/pipeline/measure_plan.py.
with asked as (
    select
        points.point_id,
        list(probes.probe_id order by list_position(getvariable('probe_types'), probes.probe_type))
        filter (where probes.probe_id is not null) as probe_ids
    from points
    left join probes on points.point_id = probes.point_id
    group by points.point_id
)

select
    points.point_id,
    sessions.content_sha256,
    left(
        sha256(json_array('needs', points.point_id, getvariable('measuring'), sessions.content_sha256)::varchar),
        getvariable('id_length')
    ) as needs_id,
    flatten(list(coalesce(asked.probe_ids, [])) over until_point) as probe_ids
from points
inner join sessions on points.session_id = sessions.session_id
inner join asked on points.point_id = asked.point_id
window until_point as (partition by points.session_id order by points.cycle)
