-- What was read, understood and deliberately not stored as a message; one row per input × kind × reason.
create table set_aside (
    input_path varchar not null,
    kind varchar not null check (kind in ('system', 'user', 'assistant', 'tool', 'tool_call', 'record')),  -- Role of
    -- the messages, tool_call, or record for what never was a message (progress notices, snapshots …)
    reason varchar not null,  -- Why; docs/formats.md explains each
    n_set_aside bigint not null check (n_set_aside > 0)  -- How many
);
