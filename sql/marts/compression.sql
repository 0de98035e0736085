-- One row per method: what compaction did to the size of contexts, over its done compactions.
--
-- A method that was not applicable everywhere was given other histories than the rest: its share removed is of these.
create view compression as
select
    stg_methods.method,
    agg_compactions.tokens_before,  -- Tokens of the histories that it was given: in a chain what it had left and what
    -- came since; NULL where none is done
    agg_compactions.tokens_after,  -- Tokens of the contexts that it left; NULL without a done compaction
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,  -- Share of tokens
    -- that it removed, 0 to 1, all compactions together; below 0 when contexts grew
    coalesce(agg_compactions.n_grew, 0) as n_grew,
    agg_compactions.seconds,  -- Wall time in seconds, failed compactions included
    agg_compactions.cost_usd,  -- US dollars paid for the compactions whose cost is known, failed ones included
    coalesce(agg_compactions.n_done, 0) as n_done,  -- Compactions that are done
    coalesce(agg_compactions.n_failed, 0) as n_failed,  -- Compactions that failed
    coalesce(agg_compactions.n_invalid_context, 0) as n_invalid_context,  -- Done compactions whose context has a tool
    -- result without its call or a call without its result: providers refuse it
    coalesce(agg_compactions.n_cost_unknown, 0) as n_cost_unknown,  -- Compactions whose cost is not known and that
    -- cost_usd leaves out
    coalesce(agg_compactions.n_not_applicable, 0) as n_not_applicable,
    stg_methods.method_id,
    agg_compactions.saved_usd,  -- US dollars that the call cache saved; cost_usd + saved_usd is what the method costs
    -- alone
    stg_methods.is_current,
    coalesce(agg_compactions.n_over_budget, 0) as n_over_budget,
    agg_compactions.session_tokens,  -- Tokens of all that was said before its points, whatever it left of it before;
    -- outside of chains the same as before
    1 - agg_compactions.tokens_after / nullif(agg_compactions.session_tokens, 0)
        as session_tokens_removed  -- Share of these that is not in its contexts, 0 to 1: all that a chain has removed
        -- so far, beside what the step removed
from stg_methods
left join agg_compactions on stg_methods.method_id = agg_compactions.method_id
order by tokens_removed desc nulls last, stg_methods.method asc;
