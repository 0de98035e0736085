-- One row per point × method × replicate, of the points and methods that are shown.
select
    shard_compactions.* replace (
        case when item_costs.item_id is null then shard_compactions.cost_usd else item_costs.cost_usd end as cost_usd
    ),
    case
        when item_costs.item_id is null then 0.0
        else greatest(shard_compactions.cost_usd - item_costs.cost_usd, 0.0)
    end as saved_usd,
    nullif(equal_contexts.first_id, shard_compactions.compaction_id) as same_context_as
from shard_compactions
semi join points on shard_compactions.point_id = points.point_id
semi join methods on shard_compactions.method_id = methods.method_id
left join item_costs on shard_compactions.compaction_id = item_costs.item_id
left join equal_contexts on shard_compactions.compaction_id = equal_contexts.compaction_id
where shard_compactions.points_spec = getvariable('points_spec')
