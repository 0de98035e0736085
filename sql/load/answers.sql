-- One row per compaction × probe × replicate, of the compactions and probes that are shown.
select
    shard_answers.* replace (
        getvariable('responder') as responder,
        case when item_costs.item_id is null then shard_answers.cost_usd else item_costs.cost_usd end as cost_usd
    ),
    case
        when item_costs.item_id is null then 0.0
        else greatest(shard_answers.cost_usd - item_costs.cost_usd, 0.0)
    end as saved_usd
from shard_answers
semi join compactions on shard_answers.compaction_id = compactions.compaction_id
semi join probes on shard_answers.probe_id = probes.probe_id
left join item_costs on shard_answers.answer_id = item_costs.item_id
where shard_answers.responder in (getvariable('responder'), getvariable('recovering'))
