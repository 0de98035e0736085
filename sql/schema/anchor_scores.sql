-- One row per anchor answer × judge × day × criterion.
create table anchor_scores (
    answer_id varchar not null,
    judge_id varchar not null,
    taken_on date not null,
    dimension varchar not null,
    criterion varchar not null,
    score double check (score between 0 and 5),
    unscored_reason varchar,
    check ((score is null) <> (unscored_reason is null))
);

comment on table anchor_scores is
'Verdicts on a fixed set of answers, asked for again and again; one row per anchor answer × judge × day × criterion';
comment on column anchor_scores.answer_id is 'Answer of the fixed set';
comment on column anchor_scores.judge_id is 'Judge version';
comment on column anchor_scores.taken_on is 'Day of the taking, in UTC';
comment on column anchor_scores.dimension is 'Dimension of the criterion';
comment on column anchor_scores.criterion is 'Criterion that was judged';
comment on column anchor_scores.score is '0 (worst) to 5 (best); NULL when unscored';
comment on column anchor_scores.unscored_reason is 'Why there is no score; NULL when there is one';
