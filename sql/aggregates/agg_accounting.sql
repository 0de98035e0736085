-- One row per input × kind: what was met, stored, set aside and in copies.
create view agg_accounting as
with kinds as (
    select
        input_path,
        kind,
        n_met
    from messages_met
    union all
    select
        inputs.input_path,
        every_kind.kind,
        0 as n_met
    from inputs
    cross join (values ('system'), ('user'), ('assistant'), ('tool'), ('tool_call')) as every_kind (kind)
    anti join messages_met
        on inputs.input_path = messages_met.input_path and every_kind.kind = messages_met.kind
),

stored as (
    unpivot (
        select
            input_path,
            sum(n_system) as system,
            sum(n_user) as user,
            sum(n_assistant) as assistant,
            sum(n_tool) as tool,
            sum(n_tool_calls) as tool_call
        from sessions
        group by input_path
    )
    on system, user, assistant, tool, tool_call
    into name kind value n_stored
),

aside as (
    select
        input_path,
        kind,
        sum(n_set_aside) filter (where reason <> 'copy of a session that is stored') as n_set_aside,
        sum(n_set_aside) filter (where reason = 'copy of a session that is stored') as n_folded
    from set_aside
    group by input_path, kind
)

select
    kinds.input_path,
    inputs.source_format,  -- Log format that was detected; NULL when none was
    kinds.kind,  -- Role of the messages (a tool result has the role tool), or tool_call
    kinds.n_met,  -- How many the file holds
    cast(coalesce(stored.n_stored, 0) as bigint) as n_stored,
    cast(coalesce(aside.n_set_aside, 0) as bigint) as n_set_aside,  -- How many are deliberately not stored
    cast(coalesce(aside.n_folded, 0) as bigint) as n_folded,
    cast(
        kinds.n_met - coalesce(stored.n_stored, 0) - coalesce(aside.n_set_aside, 0) - coalesce(aside.n_folded, 0)
        as bigint
    ) as n_unaccounted  -- n_met - n_stored - n_set_aside - n_folded
from kinds
inner join inputs on kinds.input_path = inputs.input_path
left join stored on kinds.input_path = stored.input_path and kinds.kind = stored.kind
left join aside on kinds.input_path = aside.input_path and kinds.kind = aside.kind;
