-- One row per model call: those of the embedded summariser and responder, and all that was spent on this store.
with summaries as (
    select
        shard_compactions.compaction_id,
        generate_subscripts(shard_compactions.calls, 1) - 1 as number,
        unnest(shard_compactions.calls) as call
    from shard_compactions
    semi join compactions using (compaction_id, status)
)

select
    compaction_id || '-' || number as call_id,
    'compact' as stage,
    compaction_id as item_id,
    call.model,
    call.input_tokens,
    call.output_tokens,
    0 as cached_input_tokens,
    0 as cache_write_tokens,
    call.cost_usd,
    0.0 as saved_usd,
    false as cached,
    call.seconds,
    'done' as status,
    null::varchar as error,
    null::varchar as run_id,
    null::timestamp as started_at
from summaries
where starts_with(call.model, getvariable('embedded'))
union all by name
select
    shard_answers.answer_id as call_id,
    'answer' as stage,
    shard_answers.answer_id as item_id,
    shard_answers.model,
    shard_answers.input_tokens,
    shard_answers.output_tokens,
    0 as cached_input_tokens,
    0 as cache_write_tokens,
    shard_answers.cost_usd,
    0.0 as saved_usd,
    false as cached,
    shard_answers.seconds,
    shard_answers.status,
    null::varchar as error,
    null::varchar as run_id,
    null::timestamp as started_at
from shard_answers
semi join answers using (answer_id, status)
where starts_with(shard_answers.model, getvariable('embedded'))
union all by name
select
    call_id,
    stage,
    item_id,
    model,
    input_tokens,
    output_tokens,
    cached_input_tokens,
    cache_write_tokens,
    case when cached then 0.0 else cost_usd end as cost_usd,
    case when cached then cost_usd else 0.0 end as saved_usd,
    cached,
    seconds,
    status,
    error,
    run_id,
    try_cast(started_at as timestamptz)::timestamp as started_at
from shard_calls
