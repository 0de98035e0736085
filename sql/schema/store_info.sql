-- What made this database, and of what; one row per database.
create table store_info (
    schema_version integer not null check (schema_version >= 1),  -- Version of the tables and views; one that is older
    -- is made anew
    sql_sha256 varchar not null,  -- Hash of the SQL that the tables and views come from
    made_by varchar not null,  -- Version of compaction-eval that made it
    store_format integer,  -- Version of the layout of the store's Parquet files
    tokenizer varchar,  -- What counts the tokens of the store
    study_key varchar,  -- Hash of what makes answers comparable; everything here belongs to it
    made_at timestamp not null  -- When it was made, in UTC
);
