-- One row per model call.
create table calls (
    call_id varchar not null,
    stage varchar not null,
    item_id varchar,
    model varchar not null,
    input_tokens bigint check (input_tokens >= 0),
    output_tokens bigint check (output_tokens >= 0),
    cost_usd double check (cost_usd >= 0),
    saved_usd double check (saved_usd >= 0),
    cached boolean not null,
    seconds double check (seconds >= 0),
    status varchar not null,
    error varchar,
    run_id varchar,
    started_at timestamp
);

comment on table calls is
'Tries of model calls that were sent, and uses of answers that the call cache had; one row per model call';
comment on column calls.call_id is 'Identity of the call';
comment on column calls.stage is 'What it was made for: compact, probe, answer, score, anchor, or audit';
comment on column calls.item_id is 'Compaction, point or answer that it was made for; empty for an audit';
comment on column calls.model is 'Model that was called';
comment on column calls.input_tokens is
'Tokens that were sent, as the provider counts them; NULL where it does not say';
comment on column calls.output_tokens is
'Tokens that came back, reasoning included; NULL where the provider does not say';
comment on column calls.cost_usd is
'US dollars that were paid, by the configured prices; 0 for a cached answer, NULL where not known';
comment on column calls.saved_usd is
'US dollars that a cached answer cost when it was made and that were not paid again; 0 for a call that was sent';
comment on column calls.cached is 'Whether the call cache answered, so that nothing was spent';
comment on column calls.seconds is 'Wall time in seconds';
comment on column calls.status is 'done, or the kind of fault';
comment on column calls.error is 'What went wrong, in the provider''s words without keys; NULL when done';
comment on column calls.run_id is 'Run that made it; NULL for calls of the embedded engine';
comment on column calls.started_at is 'When it was sent, in UTC; NULL for calls of the embedded engine';
