-- One row per place in a source that could not be read.
create table quarantine (
    source_path varchar not null,
    line bigint check (line >= 0),
    reason varchar not null,
    excerpt varchar
);

comment on table quarantine is
'What was refused at ingestion, and why; one row per place in a source that could not be read';
comment on column quarantine.source_path is 'File, as it was given';
comment on column quarantine.line is 'Line of the file, from 1; NULL when the file as a whole was refused';
comment on column quarantine.reason is 'Why it could not be read';
comment on column quarantine.excerpt is 'Beginning of what was found there';
