-- What a model as judge stated beside its scores, used for nothing; one row per answer × judge × judge replicate.
create table verdicts (
    answer_id varchar not null,  -- Answer that was judged
    judge_id varchar not null,  -- Judge version that judged it
    judge_replicate integer not null check (judge_replicate >= 0),
    stated_overall double,  -- Its own total of the answer; NULL where it gave no number
    stated_dimensions varchar check (json_valid(stated_dimensions)),  -- Its own totals by dimension, as JSON text
    asked_again boolean not null  -- Whether its first reply could not be read
);
