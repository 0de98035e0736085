-- One row per answer × judge × judge replicate × criterion.
create table scores (
    answer_id varchar not null,
    judge_id varchar not null,
    judge_replicate integer not null check (judge_replicate >= 0),
    dimension varchar not null,
    criterion varchar not null,
    score double check (score between 0 and 5),
    unscored_reason varchar,
    reasoning varchar,
    check ((score is null) <> (unscored_reason is null))
);

comment on table scores is
'Verdicts, criterion by criterion; one row per answer × judge × judge replicate × criterion';
comment on column scores.answer_id is 'Answer that was judged';
comment on column scores.judge_id is 'Judge version that judged it';
comment on column scores.judge_replicate is 'Number of the repetition of the judging';
comment on column scores.dimension is 'Dimension of the criterion';
comment on column scores.criterion is 'Criterion that was judged';
comment on column scores.score is '0 (worst) to 5 (best); NULL when unscored';
comment on column scores.unscored_reason is 'Why there is no score; NULL when there is one';
comment on column scores.reasoning is 'The judge''s reason';
