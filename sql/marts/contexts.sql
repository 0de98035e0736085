-- One row per done compaction × message of the context that it left, with the texts, secrets masked.
--
-- Ask for single compactions (`where compaction_id = …`): all of a large store are as many texts as its sessions times
-- methods and points. Where the texts are read from: see messages.
create view contexts as
with kept as (
    select
        stored.compaction_id,
        stored.session_id,
        any_value(stored.context) as context
    from context_rows() as stored
    semi join compactions on stored.compaction_id = compactions.compaction_id
    where stored.status = 'done'
    group by stored.compaction_id, stored.session_id
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
    placed.compaction_id,
    placed.position,
    placed.message.seq,
    coalesce(placed.message.role, messages.role) as role,
    case when placed.message.role is null then messages.text else placed.message.text end as text,
    case when placed.message.role is null then messages.reasoning else placed.message.reasoning end as reasoning,
    case
        when placed.message.role is not null then placed.message.tool_calls
        when len(messages.tool_calls) > 0 then cast(to_json(messages.tool_calls) as varchar)
    end as tool_calls,
    case when placed.message.role is null then messages.tool_call_id else placed.message.tool_call_id end
        as tool_call_id,
    case when placed.message.role is null then messages.tool_name else placed.message.tool_name end as tool_name,
    case when placed.message.role is null then messages.is_error else placed.message.is_error end as is_error,
    case when placed.message.role is null then messages.tokens else placed.message.tokens end as tokens,
    placed.message.role is null as is_as_it_was,
    placed.session_id
from placed
left join message_rows() as messages
    on
        placed.session_id = messages.session_id
        and placed.message.seq = messages.seq
        and placed.message.role is null;

comment on column contexts.compaction_id is 'Compaction that left it';
comment on column contexts.position is 'Position in the context, from 0';
comment on column contexts.seq is 'Position in the session; NULL for a message that the method made';
comment on column contexts.role is 'system, user, assistant or tool';
comment on column contexts.text is 'What it says, secrets masked';
comment on column contexts.reasoning is 'What the model thought, where the log has it';
comment on column contexts.tool_calls is 'Calls that it makes, as JSON text; NULL where it makes none';
comment on column contexts.tool_call_id is 'Call that it is the result of; NULL for other messages';
comment on column contexts.tool_name is 'Tool that it is the result of; NULL for other messages';
comment on column contexts.is_error is 'Whether the tool reported an error';
comment on column contexts.tokens is 'Tokens, by the store''s tokenizer';
comment on column contexts.is_as_it_was is
'Whether it is a message of the session as it was; else the method edited or made it';
comment on column contexts.session_id is 'Session of the compaction';
