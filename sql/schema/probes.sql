-- One row per point × probe type × prober.
create table probes (
    probe_id varchar not null,
    point_id varchar not null,
    probe_type varchar not null check (probe_type in ('recall', 'artifact', 'continuation', 'decision', 'constraint')),
    question varchar not null,
    ground_truth varchar not null,
    evidence varchar not null check (json_valid(evidence)),
    statements varchar not null check (json_valid(statements)),
    max_tokens integer not null check (max_tokens >= 0),
    prober varchar not null
);

comment on table probes is
'Questions about the history before a point, the same for every method; one row per point × probe type × prober';
comment on column probes.probe_id is 'Identity of the question';
comment on column probes.point_id is 'Point whose history it asks about';
comment on column probes.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column probes.question is 'The question as the responder sees it';
comment on column probes.ground_truth is 'The true answer';
comment on column probes.evidence is 'Messages that prove the true answer: JSON list of {seq, quote}';
comment on column probes.statements is
'Single statements that a right answer makes: JSON list of {kind, text, evidence, quotes, exact, details, foils, …}';
comment on column probes.max_tokens is 'Tokens that the answer may have';
comment on column probes.prober is 'What made the question: embedded or the spec of a model';
