-- One row per compaction or answer that model calls were noted for: what was paid for it, whichever run paid.
--
-- Each shard has the price of the calls, those included that the call cache answered. So prices alone would count an
-- answer that several compactions or answers share once for each. A call can stand in two shards.
with noted as (
    select distinct
        call_id,
        item_id,
        cost_usd,
        cached,
        status
    from shard_calls
    where stage in ('compact', 'answer')
)

select
    item_id,
    case
        when count(*) filter (where not cached and status = 'done' and cost_usd is null) = 0
            then coalesce(sum(cost_usd) filter (where not cached), 0.0)
    end as cost_usd
from noted
group by item_id
