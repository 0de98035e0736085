-- One row per method with a measured compaction: what its contexts keep, and what has to be fetched again.
--
-- All tokens are means over its measured compactions. What is fetched again is what the rest of the session made use
-- of, that a tool had shown before the point, that the session was not shown again, and that the context does not have
-- any more (tables needs and measures; docs/tokens-per-task.md). Look at tokens_per_task beside a method's quality:
-- what a person or the agent itself has said cannot be fetched again and is no part of it.
create view tokens_per_task as
with by_cluster as (
    select
        needs.method_id,
        sum(needs.refetch_tokens) as refetch_tokens,
        sum(needs.n_compactions) as n_compactions
    from agg_needs as needs
    inner join stg_clusters on needs.session_id = stg_clusters.session_id
    group by needs.method_id, stg_clusters.cluster
),

refetched as (
    select
        method_id,
        cluster_figures(list(refetch_tokens), list(n_compactions)) as fetched
    from by_cluster
    group by method_id
),

per_method as (
    select
        method_id,
        cast(sum(n_compactions) as bigint) as n_compactions,
        count(*) as n_sessions,
        sum(tokens_before) / sum(n_compactions) as tokens_before,
        sum(tokens_after) / sum(n_compactions) as kept,
        sum(n_fetches) / sum(n_compactions) as n_fetches,
        cast(sum(n_needs) as bigint) as n_needs,
        sum(n_lost) / nullif(sum(n_needs), 0) as needs_lost,
        sum(n_paths_lost) / nullif(sum(n_paths), 0) as paths_lost,
        sum(n_identifiers_lost) / nullif(sum(n_identifiers), 0) as identifiers_lost,
        sum(n_quotes_lost) / nullif(sum(n_quotes), 0) as quotes_lost,
        case when sum(n_summary_unknown) = 0 then sum(summary_input_tokens) / sum(n_compactions) end as summary_input,
        case when sum(n_summary_unknown) = 0 then sum(summary_output_tokens) / sum(n_compactions) end as summary_output
    from agg_needs
    group by method_id
),

prices as (
    select
        any_value(ratio) filter (where kind = 'output') as output,
        any_value(ratio) filter (where kind = 'cache_read') as cache_read,
        any_value(ratio) filter (where kind = 'cache_write') as cache_write
    from token_price_ratios
),

turns as (
    select
        per_method.*,
        refetched.fetched,
        per_method.kept + refetched.fetched.mean as context,
        break_even_turns(
            per_method.tokens_before,
            per_method.kept + refetched.fetched.mean,
            per_method.n_fetches,
            per_method.summary_input + prices.output * per_method.summary_output,
            1,
            1
        ) as uncached,
        break_even_turns(
            per_method.tokens_before,
            per_method.kept + refetched.fetched.mean,
            per_method.n_fetches,
            per_method.summary_input + prices.output * per_method.summary_output,
            prices.cache_read,
            prices.cache_write
        ) as cached
    from per_method
    inner join refetched on per_method.method_id = refetched.method_id
    cross join prices
)

select
    stg_methods.method,  -- Name of the method, unique
    turns.kept as context_tokens,
    turns.fetched.mean as refetch_tokens,  -- Tokens of the tool results that have to be fetched again, each once for a
    -- compaction
    turns.context as tokens_per_task,  -- context_tokens + refetch_tokens
    turns.uncached as break_even_turns,  -- Turns after which the compaction has cost less than none would have, without
    -- prompt caching; NULL: see breaks_even
    turns.cached as break_even_turns_cached,  -- The same with prompt caching, at the prices of token_price_ratios: a
    -- turn reads the context from the cache, and a compaction writes the whole new context to it
    case
        when turns.context >= turns.tokens_before then 'never'
        when turns.uncached is null then 'unknown'
        else 'yes'
    end as breaks_even,  -- yes; never: the context and what is fetched again are no less than before; unknown: a
    -- summary's tokens are not known
    ci_low(turns.fetched) as refetch_ci_low,  -- Lower end of the 95 % interval of refetch_tokens, clustered;
    -- NULL with a single cluster
    ci_high(turns.fetched) as refetch_ci_high,  -- Upper end of it
    turns.tokens_before,  -- Tokens of the history that the method was given
    turns.n_fetches,  -- Tool results that have to be fetched again
    turns.needs_lost,  -- Share 0–1 of all needs that the contexts do not meet
    turns.paths_lost,  -- Share of the needs of kind path: content of a file that is edited
    turns.identifiers_lost,  -- Share of the needs of kind identifier
    turns.quotes_lost,  -- Share of the needs of kind quote
    turns.n_needs,  -- Needs, over all compactions
    turns.summary_input as summary_input_tokens,  -- Tokens that its model calls were sent for one compaction, 0 where
    -- it makes none; NULL where a call does not say
    turns.summary_output as summary_output_tokens,  -- Tokens that these calls answered
    turns.n_compactions,
    turns.n_sessions,  -- Sessions that they lie in
    turns.method_id,  -- Method
    stg_methods.is_current,
    turns.fetched.n_clusters
from turns
inner join stg_methods on turns.method_id = stg_methods.method_id;
