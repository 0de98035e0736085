-- One row per method with a compaction: sums over its compactions.
create view agg_compactions as
select
    method_id,
    count(*) as n_compactions,
    count(*) filter (where status = 'done') as n_done,
    count(*) filter (where status = 'failed') as n_failed,
    count(*) filter (where status = 'not_applicable') as n_not_applicable,
    count(distinct point_id) filter (where status = 'not_applicable') as n_points_not_applicable,
    cast(sum(tokens_before) filter (where status = 'done') as bigint) as tokens_before,
    cast(sum(tokens_after) filter (where status = 'done') as bigint) as tokens_after,
    count(*) filter (where status = 'done' and grew) as n_grew,
    count(*) filter (where status = 'done' and invalid_context) as n_invalid_context,
    sum(seconds) as seconds,
    sum(cost_usd) as cost_usd,
    count(*) filter (where cost_usd is null) as n_cost_unknown
from compactions
group by method_id;
