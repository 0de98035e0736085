-- Sessions that were ingested; one row per transcript.
create table sessions (
    session_id varchar not null,  -- Identity of the session, made from what was read
    source_format varchar not null,  -- Log format that was detected, as in `list formats`
    source_path varchar not null,  -- Where the log was read from, as it was given
    input_path varchar not null,  -- Absolute path of the file or event folder that it was read from
    project varchar,  -- Folder of the project that it worked in, as the log names it; NULL where none is known
    title varchar,  -- Title that the log holds; NULL where it holds none
    task_type varchar  -- Kind of work: debugging, review, feature, refactoring, test, data, research or other
    check (task_type in ('debugging', 'review', 'feature', 'refactoring', 'test', 'data', 'research', 'other')),
    task_type_by varchar check (task_type_by in ('rule', 'log', 'label file', 'model')),  -- Where the task type comes
    -- from: rule (docs/task-types.md), log, label file (--task-types) or model
    resolved boolean,  -- Whether the task was solved, as the log says (docs/formats.md); NULL where it does not
    exit_status varchar,  -- How the run ended, in the log's own words; NULL where it says nothing
    n_messages bigint not null check (n_messages >= 0),  -- Messages of all roles
    n_tokens bigint not null check (n_tokens >= 0),  -- Tokens of all messages, by the row's tokenizer: text, reasoning,
    -- names and arguments of calls (docs/formats.md)
    started_at timestamp,  -- Start of the session in UTC; NULL where the log does not say
    ended_at timestamp,  -- Last time that the log holds, in UTC; NULL where it holds none
    n_system bigint not null check (n_system >= 0),  -- Messages with the role system
    n_user bigint not null check (n_user >= 0),  -- Messages with the role user
    n_assistant bigint not null check (n_assistant >= 0),  -- Messages with the role assistant
    n_tool bigint not null check (n_tool >= 0),  -- Messages with the role tool
    n_tool_calls bigint not null check (n_tool_calls >= 0),  -- Tool calls that assistant messages ask for
    n_open_calls bigint not null check (n_open_calls >= 0),  -- Calls without a result in the log (interrupted, or cut
    -- off)
    n_stray_results bigint not null check (n_stray_results >= 0),  -- Results without a call before them in the log
    n_set_aside bigint not null check (n_set_aside >= 0),  -- Things in the log that are deliberately no message
    n_given bigint not null check (n_given >= 0),  -- Messages at the beginning that another session has too: a fork's,
    -- which has points only behind them
    given_by varchar,  -- Session that has these messages too; NULL where n_given is 0
    n_recorded_compactions bigint not null check (n_recorded_compactions >= 0),  -- Compactions that the agent itself
    -- made while the session ran
    parent_session_id varchar,  -- Session that started this one as a sub-agent, or that it was forked from, as its log
    -- says; NULL for a session of its own
    forked_at bigint check (forked_at >= 0),  -- Of a fork: messages left out of it as its parent's; NULL for
    -- any other session
    n_inherited bigint not null check (n_inherited >= 0),  -- Messages of its parent that its log has too: set aside
    -- here, stored there
    model varchar,  -- Model that the log names; NULL where it names none
    input_tokens bigint check (input_tokens >= 0),  -- Prompt tokens over all responses as the provider counted them,
    -- cached ones included; NULL where the log has none
    output_tokens bigint check (output_tokens >= 0),  -- Tokens of all responses as the provider counted them; NULL as
    -- above
    cached_tokens bigint check (cached_tokens >= 0),  -- Part of input_tokens that came from a cache; NULL as above
    cost_usd double check (cost_usd >= 0),  -- US dollars that the session cost, as the log says; NULL where it does not
    tokenizer varchar not null,  -- What counted the tokens
    content_sha256 varchar not null  -- SHA-256 of the normalised messages, in hexadecimal
);
