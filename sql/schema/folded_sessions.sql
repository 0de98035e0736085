-- One row per session that is a copy of another one and is not stored itself.
create table folded_sessions (
    recorded_id varchar not null,
    input_path varchar not null,
    source_format varchar not null,
    folded_into varchar not null,
    n_messages bigint not null check (n_messages >= 0),
    n_apart bigint not null check (n_apart >= 0)
);

comment on table folded_sessions is
'Sessions that stand in the sources more than once (grown, resumed, forked, another encoding): one row per copy that '
'is not stored, because a longer one is';
comment on column folded_sessions.recorded_id is 'Identity that the copy has in its log';
comment on column folded_sessions.input_path is 'Absolute path of the input that holds the copy';
comment on column folded_sessions.source_format is 'Log format of the copy';
comment on column folded_sessions.folded_into is 'Session that is stored in its place';
comment on column folded_sessions.n_messages is 'Messages of the copy';
comment on column folded_sessions.n_apart is
'Assistant messages of the copy that the stored session does not have, as far as can be told: the end of a fork';
