-- Labels that people gave; one row per answer × rater × criterion.
create table human_scores (
    answer_id varchar not null,  -- Answer that was labelled
    rater varchar not null,  -- Who labelled it, by any name
    criterion varchar not null,  -- Criterion that was labelled
    score double not null check (score between 0 and 5),  -- 0 (worst) to 5 (best)
    labelled_at timestamp,  -- When it was taken up, in UTC; NULL where it was not noted
    sample_id varchar  -- Sample that the answer was drawn in; NULL for one that a person picked, whose chance of being
    -- labelled is not known
);
