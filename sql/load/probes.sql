-- One row per point × probe type that is asked, of the points that are shown.
select shard_probes.*
from shard_probes
semi join points on shard_probes.point_id = points.point_id
where
    shard_probes.prober = getvariable('prober')
    and shard_probes.status = 'done'
