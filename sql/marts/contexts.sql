-- One row per done compaction × message of the context that it left, with the texts, secrets masked.
--
-- Ask for single compactions (`where compaction_id = …`): all of a large store are as many texts as its sessions times
-- methods and points. Where the texts are read from: see messages.
create view contexts as
with done as (
    select
        stored.compaction_id,
        stored.session_id,
        stored.context
    from context_rows() as stored
    semi join compactions on stored.compaction_id = compactions.compaction_id
    where stored.status = 'done'
),

twice as (  -- After a kill a row can stand in two files: alike.
    select compaction_id
    from context_rows()
    where status = 'done'
    group by compaction_id
    having count(*) > 1
),

kept as (
    select done.*
    from done
    anti join twice on done.compaction_id = twice.compaction_id
    union all
    select
        done.compaction_id,
        done.session_id,
        any_value(done.context) as context
    from done
    semi join twice on done.compaction_id = twice.compaction_id
    group by done.compaction_id, done.session_id
),

placed as (
    select
        compaction_id,
        session_id,
        generate_subscripts(context, 1) - 1 as position,
        unnest(context) as message
    from kept
)

select
    placed.compaction_id,  -- Compaction that left it
    placed.position,  -- Position in the context, from 0
    placed.message.seq,  -- Position in the session; NULL for a message that the method made
    coalesce(placed.message.role, messages.role) as role,
    case when placed.message.role is null then messages.text else placed.message.text end as text,  -- What it says,
    -- secrets masked
    case when placed.message.role is null then messages.reasoning else placed.message.reasoning end
        as reasoning,  -- What the model thought, where the log has it
    case
        when placed.message.role is not null then placed.message.tool_calls
        when len(messages.tool_calls) > 0 then cast(to_json(messages.tool_calls) as varchar)
    end as tool_calls,  -- Calls that it makes, as JSON text; NULL where it makes none
    case when placed.message.role is null then messages.tool_call_id else placed.message.tool_call_id end
        as tool_call_id,
    case when placed.message.role is null then messages.tool_name else placed.message.tool_name end as tool_name,
    case when placed.message.role is null then messages.is_error else placed.message.is_error end as is_error,
    case when placed.message.role is null then messages.tokens else placed.message.tokens end as tokens,
    placed.message.role is null as is_as_it_was,  -- Whether it is a message of the session as it was; else the method
    -- edited or made it
    placed.session_id  -- Session of the compaction
from placed
left join message_rows() as messages
    on
        placed.session_id = messages.session_id
        and placed.message.seq = messages.seq
        and placed.message.role is null;
