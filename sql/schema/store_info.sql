-- One row per database: the one row that says what made it.
create table store_info (
    schema_version integer not null check (schema_version >= 1),
    sql_sha256 varchar not null,
    made_by varchar not null,
    store_format integer,
    tokenizer varchar,
    study_key varchar,
    made_at timestamp not null
);

comment on table store_info is
'What made this database, and of what; one row per database';
comment on column store_info.schema_version is 'Version of the tables and views; one that is older is made anew';
comment on column store_info.sql_sha256 is 'Hash of the SQL that the tables and views come from';
comment on column store_info.made_by is 'Version of compaction-eval that made it';
comment on column store_info.store_format is 'Version of the layout of the store''s Parquet files';
comment on column store_info.tokenizer is 'What counts the tokens of the store';
comment on column store_info.study_key is 'Hash of what makes answers comparable; everything here belongs to it';
comment on column store_info.made_at is 'When it was made, in UTC';
