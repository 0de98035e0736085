-- Messages and calls that readers met in the files, whatever became of them; one row per input × kind.
create table messages_met (
    input_path varchar not null,
    kind varchar not null check (kind in ('system', 'user', 'assistant', 'tool', 'tool_call')),  -- Role of the messages
    -- (a tool result has the role tool), or tool_call
    n_met bigint not null check (n_met >= 0)  -- How many there are in the file; pieces that make up one message count
    -- once
);
