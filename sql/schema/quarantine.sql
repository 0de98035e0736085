-- What was refused at ingestion, and why; one row per place in a source that could not be read.
create table quarantine (
    source_path varchar not null,  -- File, as it was given
    line bigint check (line >= 0),  -- Line of the file, from 1; NULL when the file as a whole was refused
    reason varchar not null,  -- Why it could not be read
    excerpt varchar  -- Beginning of what was found there
);
