-- One row per compaction point.
create table points (
    point_id varchar not null,
    session_id varchar not null,
    cycle integer not null check (cycle >= 1),
    cut_seq bigint not null check (cut_seq >= 1),
    tokens_before bigint not null check (tokens_before >= 0),
    points_spec varchar not null
);

comment on table points is
'Moments of a session at which a compaction fires, the same for every method; one row per compaction point';
comment on column points.point_id is 'Identity of the point';
comment on column points.session_id is 'Session that the point lies in';
comment on column points.cycle is '1 for the first point of the session, 2 for the second …';
comment on column points.cut_seq is 'Messages with a smaller seq are the history to be compacted';
comment on column points.tokens_before is
'Tokens of all messages of the session before the cut, counted as sessions.n_tokens';
comment on column points.points_spec is 'How the point was chosen: tokens:N, messages:N, share:S or recorded';
