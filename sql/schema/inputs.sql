-- One row per file (or folder of event files) that was read.
create table inputs (
    input_path varchar not null,
    source_format varchar,
    n_bytes bigint not null check (n_bytes >= 0),
    n_sessions bigint not null check (n_sessions >= 0),
    n_folded bigint not null check (n_folded >= 0),
    n_messages bigint not null check (n_messages >= 0),
    n_quarantined bigint not null check (n_quarantined >= 0)
);

comment on table inputs is
'What was read; one row per file, or per folder whose files are the events of one session';
comment on column inputs.input_path is 'Absolute path';
comment on column inputs.source_format is 'Log format that was detected; NULL when no format recognised it';
comment on column inputs.n_bytes is 'Size on disk in bytes';
comment on column inputs.n_sessions is 'Sessions that it holds, copies included';
comment on column inputs.n_folded is 'Of these, sessions that are a copy of one that is stored from elsewhere';
comment on column inputs.n_messages is 'Messages of its sessions';
comment on column inputs.n_quarantined is 'Places that could not be read (table quarantine)';
