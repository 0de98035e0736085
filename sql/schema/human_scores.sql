-- One row per answer × rater × criterion.
create table human_scores (
    answer_id varchar not null,
    rater varchar not null,
    criterion varchar not null,
    score double not null check (score between 0 and 5),
    labelled_at timestamp,
    sample_id varchar
);

comment on table human_scores is
'Labels that people gave; one row per answer × rater × criterion';
comment on column human_scores.answer_id is 'Answer that was labelled';
comment on column human_scores.rater is 'Who labelled it, by any name';
comment on column human_scores.criterion is 'Criterion that was labelled';
comment on column human_scores.score is '0 (worst) to 5 (best)';
comment on column human_scores.labelled_at is 'When it was taken up, in UTC; NULL where it was not noted';
comment on column human_scores.sample_id is
'Sample that the answer was drawn in; NULL for one that a person picked, whose chance of being labelled is not known';
