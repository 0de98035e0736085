-- One row per input × kind × reason: what was met and is deliberately not stored.
create table set_aside (
    input_path varchar not null,
    kind varchar not null check (kind in ('system', 'user', 'assistant', 'tool', 'tool_call', 'record')),
    reason varchar not null,
    n_set_aside bigint not null check (n_set_aside > 0)
);

comment on table set_aside is
'What was read, understood and deliberately not stored as a message; one row per input × kind × reason';
comment on column set_aside.input_path is 'Absolute path of the input';
comment on column set_aside.kind is
'Role of the messages, tool_call, or record for what never was a message (progress notices, snapshots …)';
comment on column set_aside.reason is 'Why; docs/formats.md explains each';
comment on column set_aside.n_set_aside is 'How many';
