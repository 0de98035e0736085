-- One row per method of the study's published table.
create table published_leaderboard (
    method varchar not null,
    overall double not null,
    accuracy double not null,
    context_awareness double not null,
    artifact_trail double not null,
    completeness double not null,
    continuity double not null,
    instruction_following double not null,
    tokens_removed double not null check (tokens_removed between 0 and 1),
    n_messages bigint not null,
    source varchar not null
);

comment on table published_leaderboard is
'Figures that the study published: other sessions, another judge; one row per method of its table';
comment on column published_leaderboard.method is 'Method, as the study calls it';
comment on column published_leaderboard.overall is
'Published overall, 0 to 5; not the mean of the published dimensions';
comment on column published_leaderboard.accuracy is 'Published mean, 0 to 5';
comment on column published_leaderboard.context_awareness is 'Published mean, 0 to 5';
comment on column published_leaderboard.artifact_trail is 'Published mean, 0 to 5';
comment on column published_leaderboard.completeness is 'Published mean, 0 to 5';
comment on column published_leaderboard.continuity is 'Published mean, 0 to 5';
comment on column published_leaderboard.instruction_following is 'Published mean, 0 to 5';
comment on column published_leaderboard.tokens_removed is 'Share of tokens that compaction removed, 0 to 1';
comment on column published_leaderboard.n_messages is
'Messages of the sessions that the study is based on, all methods together';
comment on column published_leaderboard.source is 'Where the figures come from; its judge was GPT-5.2';

insert into published_leaderboard
values
('Factory, anchored iterative', 3.70, 4.04, 4.01, 2.45, 4.44, 3.80, 4.99, 0.986, 36611, 'Published study'),
('Anthropic, regenerated summary', 3.44, 3.74, 3.56, 2.33, 4.37, 3.67, 4.95, 0.987, 36611, 'Published study'),
('OpenAI, opaque compact endpoint', 3.35, 3.43, 3.64, 2.19, 4.37, 3.77, 4.92, 0.993, 36611, 'Published study');
