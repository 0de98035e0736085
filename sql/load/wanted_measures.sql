-- One row per compaction: the id of its measurement, as in flows/pipeline/measure_plan.py.
select
    compactions.compaction_id,
    left(
        sha256(
            json_array(
                'measure',
                compactions.compaction_id,
                getvariable('measuring'),
                measured_points.content_sha256,
                measured_points.probe_ids
            )::varchar
        ),
        getvariable('id_length')
    ) as measure_id
from compactions
inner join measured_points on compactions.point_id = measured_points.point_id
