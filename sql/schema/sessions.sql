-- One row per transcript.
create table sessions (
    session_id varchar not null,
    source_format varchar not null,
    source_path varchar not null,
    input_path varchar not null,
    title varchar,
    task_type varchar
    check (task_type in ('debugging', 'review', 'feature', 'refactoring', 'test', 'data', 'research', 'other')),
    task_type_by varchar check (task_type_by in ('rule', 'log', 'label file', 'model')),
    n_messages bigint not null check (n_messages >= 0),
    n_tokens bigint not null check (n_tokens >= 0),
    started_at timestamp,
    ended_at timestamp,
    n_system bigint not null check (n_system >= 0),
    n_user bigint not null check (n_user >= 0),
    n_assistant bigint not null check (n_assistant >= 0),
    n_tool bigint not null check (n_tool >= 0),
    n_tool_calls bigint not null check (n_tool_calls >= 0),
    n_open_calls bigint not null check (n_open_calls >= 0),
    n_stray_results bigint not null check (n_stray_results >= 0),
    n_set_aside bigint not null check (n_set_aside >= 0),
    n_recorded_compactions bigint not null check (n_recorded_compactions >= 0),
    parent_session_id varchar,
    model varchar,
    input_tokens bigint check (input_tokens >= 0),
    output_tokens bigint check (output_tokens >= 0),
    cached_tokens bigint check (cached_tokens >= 0),
    cost_usd double check (cost_usd >= 0),
    tokenizer varchar not null,
    content_sha256 varchar not null
);

comment on table sessions is
'Sessions that were ingested; one row per transcript';
comment on column sessions.session_id is 'Identity of the session, made from what was read';
comment on column sessions.source_format is 'Log format that was detected, as in `list formats`';
comment on column sessions.source_path is 'Where the log was read from, as it was given';
comment on column sessions.input_path is 'Absolute path of the file or event folder that it was read from';
comment on column sessions.title is 'Title that the log holds; NULL where it holds none';
comment on column sessions.task_type is
'Kind of work: debugging, review, feature, refactoring, test, data, research or other';
comment on column sessions.task_type_by is
'Where the task type comes from: rule (docs/task-types.md), log, label file (--task-types) or model';
comment on column sessions.n_messages is 'Messages of all roles';
comment on column sessions.n_tokens is
'Tokens of all messages, by the row''s tokenizer: text, reasoning, names and arguments of calls (docs/formats.md)';
comment on column sessions.started_at is 'Start of the session in UTC; NULL where the log does not say';
comment on column sessions.ended_at is 'Last time that the log holds, in UTC; NULL where it holds none';
comment on column sessions.n_system is 'Messages with the role system';
comment on column sessions.n_user is 'Messages with the role user';
comment on column sessions.n_assistant is 'Messages with the role assistant';
comment on column sessions.n_tool is 'Messages with the role tool';
comment on column sessions.n_tool_calls is 'Tool calls that assistant messages ask for';
comment on column sessions.n_open_calls is 'Calls without a result in the log (interrupted, or cut off)';
comment on column sessions.n_stray_results is 'Results without a call before them in the log';
comment on column sessions.n_set_aside is 'Things in the log that are deliberately no message';
comment on column sessions.n_recorded_compactions is 'Compactions that the agent itself made while the session ran';
comment on column sessions.parent_session_id is
'Session that started this one as a sub-agent; NULL for a session of its own';
comment on column sessions.model is 'Model that the log names; NULL where it names none';
comment on column sessions.input_tokens is
'Prompt tokens over all responses as the provider counted them, cached ones included; NULL where the log has none';
comment on column sessions.output_tokens is 'Tokens of all responses as the provider counted them; NULL as above';
comment on column sessions.cached_tokens is 'Part of input_tokens that came from a cache; NULL as above';
comment on column sessions.cost_usd is 'US dollars that the session cost, as the log says; NULL where it does not';
comment on column sessions.tokenizer is 'What counted the tokens';
comment on column sessions.content_sha256 is 'SHA-256 of the normalised messages, in hexadecimal';
