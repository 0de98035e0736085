-- One row per model call.
create table calls (
    call_id varchar not null,
    stage varchar not null,
    item_id varchar,
    model varchar not null,
    input_tokens bigint check (input_tokens >= 0),
    output_tokens bigint check (output_tokens >= 0),
    cost_usd double check (cost_usd >= 0),
    cached boolean not null,
    seconds double check (seconds >= 0),
    status varchar not null
);

comment on table calls is
'Calls of models, those answered from the cache included; one row per model call';
comment on column calls.call_id is 'Identity of the call';
comment on column calls.stage is 'Stage that made it: compact, probe, answer or score';
comment on column calls.item_id is 'Compaction, point or answer that it was made for';
comment on column calls.model is 'Model that was called';
comment on column calls.input_tokens is 'Tokens that were sent';
comment on column calls.output_tokens is 'Tokens that came back';
comment on column calls.cost_usd is 'US dollars by the configured prices; NULL where the price is not known';
comment on column calls.cached is 'Whether the call cache answered, so that nothing was spent';
comment on column calls.seconds is 'Wall time in seconds';
comment on column calls.status is 'done, or what went wrong';
