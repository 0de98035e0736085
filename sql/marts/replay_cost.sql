-- One row per method × price list: what the replayed sessions would have cost, call by call (docs/replay-cost.md).
--
-- A session's calls are sent the context that the method leaves and what was said since. Of each, the beginning that
-- the call before was sent too is read from the provider's prompt cache and the rest is written to it. What makes a
-- summary is sent without a cache. Prices are those of table price_lists. All figures are means over sessions.
-- Instructions and tools that the logs do not hold cost nothing here.
create view replay_cost as
with spent as (
    select
        replay_calls.session_id,
        replay_calls.method_id,
        price_lists.price_list,
        sum(
            case
                when replay_calls.input_tokens > price_lists.above
                    then
                        replay_calls.cached_tokens * price_lists.cached_input_long
                        + (replay_calls.input_tokens - replay_calls.cached_tokens) * price_lists.cache_write_long
                        + replay_calls.output_tokens * price_lists.output_long
                else
                    replay_calls.cached_tokens * price_lists.cached_input
                    + (replay_calls.input_tokens - replay_calls.cached_tokens) * price_lists.cache_write
                    + replay_calls.output_tokens * price_lists.output
            end
        ) / 1e6 as cached_usd,
        sum(
            case
                when replay_calls.input_tokens > price_lists.above
                    then
                        replay_calls.input_tokens * price_lists.input_long
                        + replay_calls.output_tokens * price_lists.output_long
                else
                    replay_calls.input_tokens * price_lists.input + replay_calls.output_tokens * price_lists.output
            end
        ) / 1e6 as plain_usd
    from replay_calls
    cross join price_lists
    group by replay_calls.session_id, replay_calls.method_id, price_lists.price_list
),

besides as (
    select
        agg_replays.session_id,
        agg_replays.method_id,
        price_lists.price_list,
        case
            when agg_replays.summary_input_tokens > price_lists.above * agg_replays.summary_calls
                then
                    agg_replays.summary_input_tokens * price_lists.input_long
                    + agg_replays.summary_output_tokens * price_lists.output_long
            else
                agg_replays.summary_input_tokens * price_lists.input
                + agg_replays.summary_output_tokens * price_lists.output
        end / 1e6 as summary_usd,
        (
            agg_replays.refetch_tokens * price_lists.cache_write
            + agg_replays.n_fetches * agg_replays.input_tokens / agg_replays.n_calls * price_lists.cached_input
        ) / 1e6 as fetch_usd
    from agg_replays
    cross join price_lists
),

of_none as (
    select
        spent.session_id,
        spent.price_list,
        spent.cached_usd
    from spent
    inner join methods on spent.method_id = methods.method_id
    where methods.strategy = 'none'
),

by_cluster as (
    select
        spent.method_id,
        spent.price_list,
        count(*) as n,
        count(besides.summary_usd) as n_known,
        count(besides.summary_usd + besides.fetch_usd) as n_tasks_known,
        sum(spent.cached_usd + besides.summary_usd) as session_usd,
        sum(spent.cached_usd + besides.summary_usd + besides.fetch_usd) as task_usd,
        sum(spent.plain_usd + besides.summary_usd) as plain_usd,
        sum(spent.cached_usd + besides.summary_usd) filter (where of_none.session_id is not null) as beside_none_usd,
        sum(of_none.cached_usd) as none_usd,
        sum(besides.summary_usd) as summary_usd
    from spent
    inner join stg_clusters on spent.session_id = stg_clusters.session_id
    inner join besides
        on
            spent.session_id = besides.session_id
            and spent.method_id = besides.method_id
            and spent.price_list = besides.price_list
    left join of_none on spent.session_id = of_none.session_id and spent.price_list = of_none.price_list
    group by spent.method_id, spent.price_list, stg_clusters.cluster
),

figures as (
    select
        method_id,
        price_list,
        case when sum(n) = sum(n_known) then cluster_figures(list(session_usd), list(n)) end as session,
        case when sum(n) = sum(n_tasks_known) then cluster_figures(list(task_usd), list(n)) end as task,
        case when sum(n) = sum(n_known) then sum(plain_usd) / sum(n) end as plain_usd,
        case when sum(n) = sum(n_known) then sum(beside_none_usd) / nullif(sum(none_usd), 0) end as share_of_none,
        case when sum(n) = sum(n_known) then sum(summary_usd) / sum(n) end as summary_usd,
        count(*) as n_clusters
    from by_cluster
    group by method_id, price_list
),

-- Of all compactions that were replayed beside `none`; NULL for methods that work at every call.
paid_back as (
    select
        cuts.method_id,
        price_lists.price_list,
        break_even_turns(
            sum(cuts.unread_tokens),
            sum(cuts.unread_tokens - cuts.removed_tokens),
            0,
            case
                when count(*) = count(replays.summary_input_tokens + replays.summary_output_tokens)
                    then sum(
                        replays.summary_input_tokens * price_lists.input
                        + replays.summary_output_tokens * price_lists.output
                    )
            end,
            any_value(price_lists.cached_input),
            any_value(price_lists.cache_write)
        ) as calls
    from agg_replayed_cuts as cuts
    inner join agg_replays as replays on cuts.session_id = replays.session_id and cuts.method_id = replays.method_id
    cross join price_lists
    group by cuts.method_id, price_lists.price_list
    having not bool_or(cuts.removes_between)
),

tokens as (
    select
        method_id,
        count(*) as n_sessions,
        avg(n_calls) as n_calls,
        avg(cached_tokens) as read_tokens,
        avg(input_tokens - cached_tokens) as written_tokens,
        avg(summary_input_tokens) as uncached_tokens,
        avg(output_tokens) as output_tokens,
        avg(summary_output_tokens) as summary_output_tokens,
        avg(refetch_tokens) as refetch_tokens
    from agg_replays
    group by method_id
)

select
    stg_methods.method,
    figures.price_list,  -- Model whose prices they are
    figures.session.mean as usd_per_session,  -- US dollars of a session's calls and of the calls that make its
    -- compactions; NULL where one of these does not say its tokens
    ci_low(figures.session) as session_ci_low,  -- Lower end of its 95 % interval, over sessions; NULL with a single
    -- cluster
    ci_high(figures.session) as session_ci_high,  -- Upper end of it
    figures.task.mean as usd_per_task,  -- The same with what has to be fetched again: its tokens written to the cache,
    -- and for each result one more call that reads a context of mean size; NULL where a context could not be measured
    ci_low(figures.task) as task_ci_low,  -- Lower end of its 95 % interval; NULL with a single cluster
    ci_high(figures.task) as task_ci_high,  -- Upper end of it
    figures.share_of_none,  -- Dollars of these sessions as a share of what they cost without compaction; NULL where
    -- none was not run
    figures.plain_usd as usd_without_cache,  -- usd_per_session had the provider no prompt cache
    figures.summary_usd,  -- US dollars of the calls that make the compactions of a session
    tokens.read_tokens,  -- Input tokens of a session that are read from the cache
    tokens.written_tokens,  -- Input tokens that are written to it
    tokens.uncached_tokens,  -- Input tokens of the calls that make compactions
    tokens.output_tokens,  -- Output tokens of the session's own calls, the same for every method
    tokens.summary_output_tokens,  -- Output tokens of the calls that make compactions
    tokens.refetch_tokens,  -- Tokens of tool results that have to be fetched again
    tokens.n_calls,  -- Model calls of a session
    tokens.n_sessions,  -- Sessions that are replayed
    stg_methods.method_id,
    stg_methods.is_current,
    figures.n_clusters,
    case when paid_back.calls < 1 then 1 else paid_back.calls end as break_even_calls  -- Calls, from the first with the
    -- compacted context on, after which a compaction has cost no more than going on without it (docs/replay-cost.md);
    -- NULL: it removes nothing, a summary's tokens are not known, the method works at every call, or none was not run
from figures
inner join tokens on figures.method_id = tokens.method_id
inner join stg_methods on figures.method_id = stg_methods.method_id
left join paid_back on figures.method_id = paid_back.method_id and figures.price_list = paid_back.price_list;
