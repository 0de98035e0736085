-- Verdicts, criterion by criterion; one row per answer × judge × judge replicate × criterion.
create table scores (
    answer_id varchar not null,  -- Answer that was judged
    session_id varchar not null,  -- Session of the answer; naming it spares reading those of all others
    judge_id varchar not null,  -- Judge version that judged it
    judge_replicate integer not null check (judge_replicate >= 0),
    dimension varchar not null,  -- Dimension of the criterion
    criterion varchar not null,  -- Criterion that was judged
    score double check (score between 0 and 5),  -- 0 (worst) to 5 (best); NULL when unscored
    unscored_reason varchar,
    reasoning varchar,  -- The judge's reason
    check ((score is null) <> (unscored_reason is null))
);
