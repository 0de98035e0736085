-- One row per method with a compaction: sums over its compactions.
create view agg_compactions as
select
    compactions.method_id,
    (select m.method from stg_methods as m where m.method_id = compactions.method_id) as method,
    count(*) as n_compactions,  -- Compactions of any status
    count(*) filter (where compactions.status = 'done') as n_done,  -- Compactions that are done
    count(*) filter (where compactions.status = 'failed') as n_failed,  -- Compactions that failed
    count(*) filter (where compactions.status = 'not_applicable') as n_not_applicable,
    count(distinct compactions.point_id) filter (
        where compactions.status = 'not_applicable'
    ) as n_points_not_applicable,  -- Points at which it was not applicable
    cast(sum(compactions.tokens_before) filter (where compactions.status = 'done') as bigint)
        as tokens_before,  -- Tokens before, summed over done compactions; NULL without one
    cast(sum(compactions.tokens_after) filter (where compactions.status = 'done') as bigint)
        as tokens_after,  -- Tokens after, summed over done compactions; NULL without one
    cast(sum(points.tokens_before) filter (where compactions.status = 'done') as bigint)
        as session_tokens,  -- Tokens of the whole session before the point, summed over done compactions; NULL without
        -- one
    count(*) filter (where compactions.status = 'done' and compactions.grew) as n_grew,
    count(*) filter (where compactions.status = 'done' and compactions.invalid_context)
        as n_invalid_context,  -- Done compactions whose context has a tool result without its call or a call without
        -- its result
    count(*) filter (where list_contains(compactions.flags, 'over_budget')) as n_over_budget,
    sum(compactions.seconds) as seconds,  -- Wall time in seconds, failed compactions included
    sum(compactions.cost_usd) as cost_usd,  -- US dollars paid for the compactions whose cost is known
    sum(compactions.saved_usd) as saved_usd,  -- US dollars that cached answers saved of these compactions
    count(*) filter (where compactions.cost_usd is null) as n_cost_unknown  -- Compactions whose cost is not known
from compactions
left join points on compactions.point_id = points.point_id
group by compactions.method_id;
