-- One row per sample × answer that was drawn to be labelled.
create table label_samples (
    sample_id varchar not null,
    answer_id varchar not null,
    judge_id varchar not null,
    probability double not null check (probability > 0 and probability <= 1),
    probe_type varchar not null,
    score_band varchar not null check (score_band in ('low', 'middle', 'high')),
    seed varchar not null,
    drawn_at timestamp not null
);

comment on table label_samples is
'Answers that were drawn for people to label; one row per sample × answer';
comment on column label_samples.sample_id is 'Identity of the draw: size, seed, judge and the answers that it was from';
comment on column label_samples.answer_id is 'Answer that was drawn';
comment on column label_samples.judge_id is 'Judge version whose scores made the bands';
comment on column label_samples.probability is
'Chance that the answer had of being in the sample; its inverse is the answer''s weight in leaderboard_corrected';
comment on column label_samples.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column label_samples.score_band is 'Overall that the judge gave: low (below 2), middle, high (from 4 on)';
comment on column label_samples.seed is 'Seed of the draw';
comment on column label_samples.drawn_at is 'When it was drawn, in UTC';
