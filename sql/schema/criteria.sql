-- The rubric as data; one row per rubric version × criterion.
create table criteria (
    rubric varchar not null,
    criterion varchar not null,  -- Id of the criterion
    dimension varchar not null,  -- Dimension that the criterion belongs to
    weight double not null check (weight > 0),  -- Weight within the dimension
    question varchar not null  -- What the judge decides
);
