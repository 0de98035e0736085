-- One row per method with a compaction: sums over its compactions.
create view agg_compactions as
select
    compactions.method_id,
    count(*) as n_compactions,
    count(*) filter (where compactions.status = 'done') as n_done,
    count(*) filter (where compactions.status = 'failed') as n_failed,
    count(*) filter (where compactions.status = 'not_applicable') as n_not_applicable,
    count(distinct compactions.point_id) filter (
        where compactions.status = 'not_applicable'
    ) as n_points_not_applicable,
    cast(sum(compactions.tokens_before) filter (where compactions.status = 'done') as bigint) as tokens_before,
    cast(sum(compactions.tokens_after) filter (where compactions.status = 'done') as bigint) as tokens_after,
    cast(sum(points.tokens_before) filter (where compactions.status = 'done') as bigint) as session_tokens,
    count(*) filter (where compactions.status = 'done' and compactions.grew) as n_grew,
    count(*) filter (where compactions.status = 'done' and compactions.invalid_context) as n_invalid_context,
    count(*) filter (where list_contains(compactions.flags, 'over_budget')) as n_over_budget,
    sum(compactions.seconds) as seconds,
    sum(compactions.cost_usd) as cost_usd,
    sum(compactions.saved_usd) as saved_usd,
    count(*) filter (where compactions.cost_usd is null) as n_cost_unknown
from compactions
left join points on compactions.point_id = points.point_id
group by compactions.method_id;

comment on column agg_compactions.method_id is 'Identity of the method';
comment on column agg_compactions.n_compactions is 'Compactions of any status';
comment on column agg_compactions.n_done is 'Compactions that are done';
comment on column agg_compactions.n_failed is 'Compactions that failed';
comment on column agg_compactions.n_not_applicable is 'Compactions for which the method was not applicable';
comment on column agg_compactions.n_points_not_applicable is 'Points at which it was not applicable';
comment on column agg_compactions.tokens_before is 'Tokens before, summed over done compactions; NULL without one';
comment on column agg_compactions.tokens_after is 'Tokens after, summed over done compactions; NULL without one';
comment on column agg_compactions.session_tokens is
'Tokens of the whole session before the point, summed over done compactions; NULL without one';
comment on column agg_compactions.n_grew is 'Done compactions whose context has more tokens than before';
comment on column agg_compactions.n_invalid_context is
'Done compactions whose context has a tool result without its call or a call without its result';
comment on column agg_compactions.n_over_budget is
'Done compactions whose context has more tokens than the parameters of the method allow';
comment on column agg_compactions.seconds is 'Wall time in seconds, failed compactions included';
comment on column agg_compactions.cost_usd is 'US dollars paid for the compactions whose cost is known';
comment on column agg_compactions.saved_usd is 'US dollars that cached answers saved of these compactions';
comment on column agg_compactions.n_cost_unknown is 'Compactions whose cost is not known';
