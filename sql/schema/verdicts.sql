-- One row per answer × judge × judge replicate that a language model judged.
create table verdicts (
    answer_id varchar not null,
    judge_id varchar not null,
    judge_replicate integer not null check (judge_replicate >= 0),
    stated_overall double,
    stated_dimensions varchar check (json_valid(stated_dimensions)),
    asked_again boolean not null
);

comment on table verdicts is
'What a model as judge stated beside its scores, used for nothing; one row per answer × judge × judge replicate';
comment on column verdicts.answer_id is 'Answer that was judged';
comment on column verdicts.judge_id is 'Judge version that judged it';
comment on column verdicts.judge_replicate is 'Number of the repetition of the judging';
comment on column verdicts.stated_overall is 'Its own total of the answer; NULL where it gave no number';
comment on column verdicts.stated_dimensions is 'Its own totals by dimension, as JSON text';
comment on column verdicts.asked_again is 'Whether its first reply could not be read';
