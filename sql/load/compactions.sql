-- One row per point × method × replicate, of the points and methods that are shown.
select shard_compactions.*
from shard_compactions
semi join points on shard_compactions.point_id = points.point_id
semi join methods on shard_compactions.method_id = methods.method_id
where shard_compactions.points_spec = getvariable('points_spec')
