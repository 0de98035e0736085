-- One row per stage × model: calls and spend.
create view costs as
select
    stage,  -- Stage that made the calls
    model,  -- Model that was called
    count(*) as n_calls,  -- Calls, those that the cache answered included
    count(*) filter (where cached) as n_cached,  -- Calls that the cache answered, so that nothing was spent
    count(*) filter (where status <> 'done') as n_not_done,  -- Calls that went wrong
    cast(sum(input_tokens) filter (where not cached) as bigint) as input_tokens,  -- Tokens that were sent, without the
    -- cached calls
    cast(sum(output_tokens) filter (where not cached) as bigint) as output_tokens,  -- Tokens that came back, without
    -- the cached calls
    cast(sum(cached_input_tokens) filter (where not cached) as bigint) as cached_input_tokens,  -- Of input_tokens,
    -- those that the provider had in its prompt cache
    cast(sum(cache_write_tokens) filter (where not cached) as bigint) as cache_write_tokens,  -- Of input_tokens, those
    -- that the provider charged for writing into its prompt cache
    sum(cost_usd) filter (where not cached) as cost_usd,  -- US dollars spent on the calls whose price is known; NULL
    -- when none is
    count(*) filter (where not cached and cost_usd is null) as n_cost_unknown,  -- Calls whose price is not known and
    -- that cost_usd leaves out
    sum(seconds) filter (where not cached) as seconds,  -- Wall time in seconds, without the cached calls
    sum(saved_usd) as saved_usd  -- US dollars that the calls which the cache answered had cost, where that is known
from calls
group by stage, model
order by stage, model;
