-- One row per input × kind: how many the reader met.
create table messages_met (
    input_path varchar not null,
    kind varchar not null check (kind in ('system', 'user', 'assistant', 'tool', 'tool_call')),
    n_met bigint not null check (n_met >= 0)
);

comment on table messages_met is
'Messages and calls that readers met in the files, whatever became of them; one row per input × kind';
comment on column messages_met.input_path is 'Absolute path of the input';
comment on column messages_met.kind is 'Role of the messages (a tool result has the role tool), or tool_call';
comment on column messages_met.n_met is
'How many there are in the file; pieces that make up one message count once';
