-- One row per measured compaction.
create table measures (
    compaction_id varchar not null,
    status varchar not null check (status in ('done', 'failed', 'opaque')),
    error varchar,
    seconds double check (seconds >= 0),
    n_needs integer check (n_needs >= 0),
    n_lost integer check (n_lost between 0 and n_needs),
    n_paths integer check (n_paths >= 0),
    n_paths_lost integer check (n_paths_lost between 0 and n_paths),
    n_identifiers integer check (n_identifiers >= 0),
    n_identifiers_lost integer check (n_identifiers_lost between 0 and n_identifiers),
    n_quotes integer check (n_quotes >= 0),
    n_quotes_lost integer check (n_quotes_lost between 0 and n_quotes),
    lost integer[],
    fetched integer[],
    n_fetches integer check (n_fetches >= 0),
    refetch_tokens bigint check (refetch_tokens >= 0),
    summary_calls integer check (summary_calls >= 0),
    summary_input_tokens bigint check (summary_input_tokens >= 0),
    summary_output_tokens bigint check (summary_output_tokens >= 0),
    n_created_true integer check (n_created_true >= 0),
    n_created_told integer check (n_created_told >= 0),
    n_created_right integer check (n_created_right <= least(n_created_true, n_created_told)),
    n_modified_true integer check (n_modified_true >= 0),
    n_modified_told integer check (n_modified_told >= 0),
    n_modified_right integer check (n_modified_right <= least(n_modified_true, n_modified_told)),
    n_read_true integer check (n_read_true >= 0),
    n_read_told integer check (n_read_told >= 0),
    n_read_right integer check (n_read_right <= least(n_read_true, n_read_told)),
    n_any_true integer check (n_any_true >= 0),
    n_any_told integer check (n_any_told >= 0),
    n_any_right integer check (n_any_right <= least(n_any_true, n_any_told)),
    check (status <> 'done' or (n_needs is not null and refetch_tokens is not null and n_any_true is not null))
);

comment on table measures is
'What is measured of compacted contexts without a question, an answer or a judge; one row per measured compaction';
comment on column measures.compaction_id is 'Compaction that is measured';
comment on column measures.status is
'done; failed: something went wrong; opaque: the context holds what nobody but its provider can read, and nothing is '
'measured';
comment on column measures.error is 'Why it was not measured; NULL when done';
comment on column measures.seconds is 'Wall time in seconds';
comment on column measures.n_needs is 'Needs of its point (table needs)';
comment on column measures.n_lost is 'Those of them that the context does not meet';
comment on column measures.n_paths is 'Needs of the point of kind path';
comment on column measures.n_paths_lost is 'Those of them that the context does not meet';
comment on column measures.n_identifiers is 'Needs of the point of kind identifier';
comment on column measures.n_identifiers_lost is 'Those of them that the context does not meet';
comment on column measures.n_quotes is 'Needs of the point of kind quote';
comment on column measures.n_quotes_lost is 'Those of them that the context does not meet';
comment on column measures.lost is 'Numbers of the needs that the context does not meet';
comment on column measures.fetched is
'Tool results (seq) that have to be fetched again for them, each once, in the order in which they are needed';
comment on column measures.n_fetches is 'How many these are';
comment on column measures.refetch_tokens is 'Tokens of these';
comment on column measures.summary_calls is 'Model calls that made the compaction, from the cache or not';
comment on column measures.summary_input_tokens is 'Tokens that they were sent; NULL where a call does not say';
comment on column measures.summary_output_tokens is 'Tokens that they answered; NULL where a call does not say';
comment on column measures.n_created_true is 'Files that the tool calls before the point created';
comment on column measures.n_created_told is 'Files of which the context tells that they were created';
comment on column measures.n_created_right is 'Files that are in both';
comment on column measures.n_modified_true is 'Files that the tool calls before the point modified';
comment on column measures.n_modified_told is 'Files of which the context tells that they were modified';
comment on column measures.n_modified_right is 'Files that are in both';
comment on column measures.n_read_true is 'Files that the tool calls before the point read and never changed';
comment on column measures.n_read_told is 'Files of which the context tells that they were read and never changed';
comment on column measures.n_read_right is 'Files that are in both';
comment on column measures.n_any_true is 'Files that the tool calls before the point created, modified or read';
comment on column measures.n_any_told is 'Files of which the context tells that they were created, modified or read';
comment on column measures.n_any_right is 'Files that are in both';
