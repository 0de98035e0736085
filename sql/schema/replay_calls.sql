-- Model calls of sessions as they would have been under a method; one row per replayed session × method × call.
create table replay_calls (
    session_id varchar not null,
    method_id varchar not null,
    seq integer not null check (seq >= 0),  -- Position in the session of the first message that the call answered
    input_tokens bigint not null check (input_tokens >= 0),  -- Tokens of the context that it would have been sent
    cached_tokens bigint not null check (cached_tokens between 0 and input_tokens),  -- Those at the beginning that the
    -- call before was sent too: a provider's prompt cache can have them
    output_tokens bigint not null check (output_tokens >= 0)  -- Tokens that it answered, as the session has them
);
