-- One row per compaction × probe × replicate.
create table answers (
    answer_id varchar not null,
    compaction_id varchar not null,
    probe_id varchar not null,
    replicate integer not null check (replicate >= 0),
    text varchar,
    status varchar not null check (status in ('done', 'failed')),
    cost_usd double check (cost_usd >= 0),
    saved_usd double check (saved_usd >= 0),
    error varchar,
    n_tokens bigint check (n_tokens >= 0),
    fetched_tokens bigint check (fetched_tokens >= 0),
    seconds double check (seconds >= 0),
    responder varchar not null,
    answered_at timestamp
);

comment on table answers is
'What the responder said, given the compacted context and the question; one row per compaction × probe × replicate';
comment on column answers.answer_id is 'Identity of the answer';
comment on column answers.compaction_id is 'Compaction whose context the responder saw';
comment on column answers.probe_id is 'Question that it was asked';
comment on column answers.replicate is 'Number of the repetition';
comment on column answers.text is 'The answer; NULL when failed';
comment on column answers.status is 'done, or failed: there is nothing to score';
comment on column answers.cost_usd is 'US dollars that were paid for the call; NULL where the price is not known';
comment on column answers.saved_usd is
'US dollars that the call would have cost, had the call cache not had the answer';
comment on column answers.error is 'Why it failed; NULL when done';
comment on column answers.n_tokens is 'Tokens of the answer';
comment on column answers.fetched_tokens is
'Tokens of the messages that the method put into the context for this question (retrieval); 0 where it fetches none';
comment on column answers.seconds is 'Wall time in seconds';
comment on column answers.responder is 'What answered: embedded or the spec of a model';
comment on column answers.answered_at is 'When, in UTC; NULL for answers of stores that did not note it';
