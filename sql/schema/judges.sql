-- One row per judge version.
create table judges (
    judge_id varchar not null,
    judge varchar not null,
    model varchar not null,
    rubric varchar not null,
    prompt_sha256 varchar not null,
    protocol varchar not null,
    params varchar not null check (json_valid(params)),
    created_at timestamp not null
);

comment on table judges is
'Everything that a judge''s scores depend on; a changed judge is another row; one row per judge version';
comment on column judges.judge_id is 'Hash of the row''s other columns but created_at';
comment on column judges.judge is 'embedded (no language model) or the spec of a model';
comment on column judges.model is 'Model that scores, or the embedded judge''s name and version';
comment on column judges.rubric is 'Id and version of the rubric, and the beginning of its hash';
comment on column judges.prompt_sha256 is
'SHA-256 of the prompt; of the embedded judge, which has none, of its name and version';
comment on column judges.protocol is
'study: the compacted context is shown; closed: question, answer and truth only; else what the embedded judge reads';
comment on column judges.params is 'Parameters of the judge as JSON text';
comment on column judges.created_at is 'When this version was first used, in UTC';
