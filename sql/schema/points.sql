-- Moments of a session at which a compaction fires, the same for every method; one row per compaction point.
create table points (
    point_id varchar not null,  -- Identity of the point
    session_id varchar not null,  -- Session that the point lies in
    cycle integer not null check (cycle >= 1),  -- 1 for the first point of the session, 2 for the second …
    cut_seq bigint not null check (cut_seq >= 1),  -- Messages with a smaller seq are the history to be compacted
    tokens_before bigint not null check (tokens_before >= 0),  -- Tokens of all messages of the session before the cut,
    -- counted as sessions.n_tokens
    points_spec varchar not null  -- How the point was chosen: tokens:N, messages:N, share:S, sizes:N or recorded
);
