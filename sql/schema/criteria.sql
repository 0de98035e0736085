-- One row per rubric version × criterion.
create table criteria (
    rubric varchar not null,
    criterion varchar not null,
    dimension varchar not null,
    weight double not null check (weight > 0),
    question varchar not null
);

comment on table criteria is
'The rubric as data; one row per rubric version × criterion';
comment on column criteria.rubric is 'Id and version of the rubric, and the beginning of its hash';
comment on column criteria.criterion is 'Id of the criterion';
comment on column criteria.dimension is 'Dimension that the criterion belongs to';
comment on column criteria.weight is 'Weight within the dimension';
comment on column criteria.question is 'What the judge decides';
