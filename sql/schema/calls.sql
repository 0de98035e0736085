-- Tries of model calls that were sent, and uses of answers that the call cache had; one row per model call.
create table calls (
    call_id varchar not null,  -- Identity of the call
    stage varchar not null,  -- What it was made for: compact, probe, answer, next_action, score, anchor,
    -- pair, or audit
    item_id varchar,  -- Compaction, point, answer or comparison that it was made for, or the answers of a pack, a
    -- plus after each; empty for an audit
    model varchar not null,  -- Model that was called
    input_tokens bigint check (input_tokens >= 0),  -- Tokens that were sent, as the provider counts them; NULL where it
    -- does not say
    output_tokens bigint check (output_tokens >= 0),  -- Tokens that came back, reasoning included; NULL where the
    -- provider does not say
    cached_input_tokens bigint check (cached_input_tokens >= 0),  -- Of the tokens sent, those that the provider had in
    -- its prompt cache; NULL where it does not say
    cache_write_tokens bigint check (cache_write_tokens >= 0),  -- Of the tokens sent, those that the provider charged
    -- for writing into its prompt cache; NULL where it does not say
    cost_usd double check (cost_usd >= 0),  -- US dollars that were paid, by the configured prices; 0 for a cached
    -- answer, NULL where not known
    saved_usd double check (saved_usd >= 0),  -- US dollars that a cached answer cost when it was made and that were not
    -- paid again; 0 for a call that was sent
    cached boolean not null,  -- Whether the call cache answered, so that nothing was spent
    seconds double check (seconds >= 0),  -- Wall time in seconds
    status varchar not null,  -- done, the kind of fault, or sent: a killed run sent it and nobody read the answer
    error varchar,  -- What went wrong, in the provider's words without keys; NULL when done
    run_id varchar,  -- Run that made it; NULL for calls of the embedded engine
    started_at timestamp  -- When it was sent, in UTC; NULL for calls of the embedded engine
);
