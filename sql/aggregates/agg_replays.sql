-- One row per method × replayed session: tokens of its model calls, of its summaries, and of what is fetched again.
create view agg_replays as
with calls as (
    select
        session_id,
        method_id,
        cast(count(*) as bigint) as n_calls,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(cached_tokens) as bigint) as cached_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens
    from replay_calls
    group by session_id, method_id
),

made as (
    select
        points.session_id,
        compactions.method_id,
        sum(measures.summary_calls) as summary_calls,
        case when count(*) = count(measures.summary_input_tokens) then sum(measures.summary_input_tokens) end
            as summary_input_tokens,
        case when count(*) = count(measures.summary_output_tokens) then sum(measures.summary_output_tokens) end
            as summary_output_tokens,
        sum(measures.n_fetches) as n_fetches,
        sum(measures.refetch_tokens) as refetch_tokens
    from compactions
    inner join points on compactions.point_id = points.point_id
    left join measures on compactions.compaction_id = measures.compaction_id
    where compactions.status = 'done' and compactions.replicate = 0
    group by points.session_id, compactions.method_id
)

select
    calls.session_id,
    calls.method_id,
    stg_methods.method,
    calls.n_calls,  -- Model calls of the session
    calls.input_tokens,  -- Tokens that they were sent, summed
    calls.cached_tokens,  -- Of these, tokens that the call before was sent too
    calls.output_tokens,  -- Tokens that they answered
    coalesce(made.summary_calls, 0) as summary_calls,  -- Model calls that made the compactions
    case when made.session_id is null then 0 else made.summary_input_tokens end as summary_input_tokens,  -- Tokens that
    -- these were sent; NULL where a call does not say
    case when made.session_id is null then 0 else made.summary_output_tokens end as summary_output_tokens,  -- Tokens
    -- that these answered; NULL where a call does not say
    case when made.session_id is null then 0 else made.n_fetches end as n_fetches,  -- Tool results that have to be
    -- fetched again; NULL where no context could be measured
    case when made.session_id is null then 0 else made.refetch_tokens end as refetch_tokens  -- Tokens of these
from calls
inner join stg_methods on calls.method_id = stg_methods.method_id
left join made on calls.session_id = made.session_id and calls.method_id = made.method_id;
