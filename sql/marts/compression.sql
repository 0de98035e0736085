-- One row per method: what compaction did to the size of contexts, over its done compactions.
--
-- A method that was not applicable everywhere was given other histories than the rest: its share removed is of these.
create view compression as
select
    stg_methods.method,
    agg_compactions.tokens_before,
    agg_compactions.tokens_after,
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,
    coalesce(agg_compactions.n_grew, 0) as n_grew,
    agg_compactions.seconds,
    agg_compactions.cost_usd,
    coalesce(agg_compactions.n_done, 0) as n_done,
    coalesce(agg_compactions.n_failed, 0) as n_failed,
    coalesce(agg_compactions.n_invalid_context, 0) as n_invalid_context,
    coalesce(agg_compactions.n_cost_unknown, 0) as n_cost_unknown,
    coalesce(agg_compactions.n_not_applicable, 0) as n_not_applicable,
    stg_methods.method_id,
    agg_compactions.saved_usd,
    stg_methods.is_current,
    coalesce(agg_compactions.n_over_budget, 0) as n_over_budget,
    agg_compactions.session_tokens,
    1 - agg_compactions.tokens_after / nullif(agg_compactions.session_tokens, 0) as session_tokens_removed
from stg_methods
left join agg_compactions on stg_methods.method_id = agg_compactions.method_id
order by tokens_removed desc nulls last, stg_methods.method asc;

comment on column compression.method is 'Name of the method';
comment on column compression.tokens_before is
'Tokens of the histories that it was given: in a chain what it had left and what came since; NULL where none is done';
comment on column compression.tokens_after is 'Tokens of the contexts that it left; NULL without a done compaction';
comment on column compression.tokens_removed is
'Share of tokens that it removed, 0 to 1, all compactions together; below 0 when contexts grew';
comment on column compression.session_tokens is
'Tokens of all that was said before its points, whatever it left of it before; outside of chains the same as before';
comment on column compression.session_tokens_removed is
'Share of these that is not in its contexts, 0 to 1: all that a chain has removed so far, beside what the step removed';
comment on column compression.n_grew is 'Done compactions whose context has more tokens than before';
comment on column compression.seconds is 'Wall time in seconds, failed compactions included';
comment on column compression.cost_usd is
'US dollars paid for the compactions whose cost is known, failed ones included';
comment on column compression.n_done is 'Compactions that are done';
comment on column compression.n_failed is 'Compactions that failed';
comment on column compression.n_invalid_context is
'Done compactions whose context has a tool result without its call or a call without its result: providers refuse it';
comment on column compression.n_over_budget is
'Done compactions whose context has more tokens than the parameters of the method allow';
comment on column compression.n_cost_unknown is 'Compactions whose cost is not known and that cost_usd leaves out';
comment on column compression.n_not_applicable is 'Compactions for which the method was not applicable';
comment on column compression.method_id is 'Identity of the method';
comment on column compression.saved_usd is
'US dollars that the call cache saved; cost_usd + saved_usd is what the method costs alone';
comment on column compression.is_current is 'Whether the newest run of the study asks for the method';
