-- Verdicts on a fixed set of answers, asked for again and again; one row per anchor answer × judge × day × criterion.
create table anchor_scores (
    answer_id varchar not null,  -- Answer of the fixed set
    judge_id varchar not null,
    taken_on date not null,  -- Day of the taking, in UTC
    dimension varchar not null,  -- Dimension of the criterion
    criterion varchar not null,  -- Criterion that was judged
    score double check (score between 0 and 5),  -- 0 (worst) to 5 (best); NULL when unscored
    unscored_reason varchar,
    check ((score is null) <> (unscored_reason is null))
);
