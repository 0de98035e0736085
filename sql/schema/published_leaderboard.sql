-- Figures that the study published: other sessions, another judge; one row per method of its table.
create table published_leaderboard (
    method varchar not null,  -- Method, as the study calls it
    overall double not null,  -- Published overall, 0 to 5; not the mean of the published dimensions
    accuracy double not null,  -- Published mean, 0 to 5
    context_awareness double not null,  -- Published mean, 0 to 5
    artifact_trail double not null,  -- Published mean, 0 to 5
    completeness double not null,  -- Published mean, 0 to 5
    continuity double not null,  -- Published mean, 0 to 5
    instruction_following double not null,  -- Published mean, 0 to 5
    tokens_removed double not null check (tokens_removed between 0 and 1),  -- Share of tokens that compaction removed,
    -- 0 to 1
    n_messages bigint not null,  -- Messages of the sessions that the study is based on, all methods together
    source varchar not null  -- Where the figures come from; its judge was GPT-5.2
);

insert into published_leaderboard
values
('Factory, anchored iterative', 3.70, 4.04, 4.01, 2.45, 4.44, 3.80, 4.99, 0.986, 36611, 'Published study'),
('Anthropic, regenerated summary', 3.44, 3.74, 3.56, 2.33, 4.37, 3.67, 4.95, 0.987, 36611, 'Published study'),
('OpenAI, opaque compact endpoint', 3.35, 3.43, 3.64, 2.19, 4.37, 3.77, 4.92, 0.993, 36611, 'Published study');
