-- One row per point × probe type that has no question, of the points that are shown.
--
-- A probe that failed and could be made later stands in two shards until the next run clears them up; it is asked.
select shard_probes.*
from shard_probes
semi join points on shard_probes.point_id = points.point_id
anti join probes on shard_probes.probe_id = probes.probe_id
where
    shard_probes.prober = getvariable('prober')
    and shard_probes.status <> 'done'
