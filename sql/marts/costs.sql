-- One row per stage × model: calls and spend.
create view costs as
with counted as (
    select
        *,
        not cached and status <> 'sent' as is_read
    from calls
)

select
    stage,  -- Stage that made the calls
    model,  -- Model that was called
    count(*) as n_calls,  -- Calls, those that the cache answered included
    count(*) filter (where cached) as n_cached,  -- Calls that the cache answered, so that nothing was spent
    count(*) filter (where status not in ('done', 'sent')) as n_not_done,  -- Calls that went wrong
    count(*) filter (where status = 'sent') as n_unread,  -- Calls that a killed run had sent and whose answers nobody
    -- read; they are in none of the sums but unread_usd
    cast(sum(input_tokens) filter (where is_read) as bigint) as input_tokens,  -- Tokens that were sent, without the
    -- cached calls
    cast(sum(output_tokens) filter (where is_read) as bigint) as output_tokens,  -- Tokens that came back, without the
    -- cached calls
    cast(sum(cached_input_tokens) filter (where is_read) as bigint) as cached_input_tokens,  -- Of input_tokens, those
    -- that the provider had in its prompt cache
    cast(sum(cache_write_tokens) filter (where is_read) as bigint) as cache_write_tokens,  -- Of input_tokens, those
    -- that the provider charged for writing into its prompt cache
    sum(cost_usd) filter (where is_read) as cost_usd,  -- US dollars spent on the calls whose price is known; NULL when
    -- none is
    count(*) filter (where is_read and cost_usd is null) as n_cost_unknown,  -- Calls whose price is not known and that
    -- cost_usd leaves out
    coalesce(sum(cost_usd) filter (where status = 'sent'), 0) as unread_usd,  -- US dollars that the calls of n_unread
    -- have cost, estimated
    sum(seconds) filter (where is_read) as seconds,  -- Wall time in seconds, without the cached calls
    sum(saved_usd) as saved_usd  -- US dollars that the calls which the cache answered had cost, where that is known
from counted
group by stage, model
order by stage, model;
