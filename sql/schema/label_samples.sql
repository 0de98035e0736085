-- Answers that were drawn for people to label; one row per sample × answer.
create table label_samples (
    sample_id varchar not null,  -- Identity of the draw: size, seed, judge and the answers that it was from
    answer_id varchar not null,  -- Answer that was drawn
    judge_id varchar not null,  -- Judge version whose scores made the bands
    probability double not null check (probability > 0 and probability <= 1),  -- Chance that the answer had of being in
    -- the sample; its inverse is the answer's weight in leaderboard_corrected
    probe_type varchar not null,
    score_band varchar not null check (score_band in ('low', 'middle', 'high')),  -- Overall that the judge gave: low
    -- (below 2), middle, high (from 4 on)
    seed varchar not null,  -- Seed of the draw
    drawn_at timestamp not null  -- When it was drawn, in UTC
);
