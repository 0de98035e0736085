-- What was read; one row per file, or per folder whose files are the events of one session.
create table inputs (
    input_path varchar not null,  -- Absolute path
    source_format varchar,  -- Log format that was detected; NULL when no format recognised it
    n_bytes bigint not null check (n_bytes >= 0),  -- Size on disk in bytes
    n_sessions bigint not null check (n_sessions >= 0),  -- Sessions that it holds, copies included
    n_folded bigint not null check (n_folded >= 0),  -- Of these, sessions that are a copy of one that is stored from
    -- elsewhere
    n_messages bigint not null check (n_messages >= 0),  -- Messages of its sessions
    n_quarantined bigint not null check (n_quarantined >= 0)  -- Places that could not be read (table quarantine)
);
