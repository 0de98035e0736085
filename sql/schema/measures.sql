-- What is measured of compacted contexts without a question, an answer or a judge; one row per measured compaction.
create table measures (
    compaction_id varchar not null,  -- Compaction that is measured
    status varchar not null check (status in ('done', 'failed', 'opaque')),  -- done; failed: something went wrong;
    -- opaque: the context holds what nobody but its provider can read, and nothing is measured
    error varchar,  -- Why it was not measured; NULL when done
    seconds double check (seconds >= 0),  -- Wall time in seconds
    n_needs integer check (n_needs >= 0),  -- Needs of its point (table needs)
    n_lost integer check (n_lost between 0 and n_needs),  -- Those of them that the context does not meet
    n_paths integer check (n_paths >= 0),  -- Needs of the point of kind path
    n_paths_lost integer check (n_paths_lost between 0 and n_paths),  -- Those of them that the context does not meet
    n_identifiers integer check (n_identifiers >= 0),  -- Needs of the point of kind identifier
    n_identifiers_lost integer check (n_identifiers_lost between 0 and n_identifiers),  -- Those of them that the
    -- context does not meet
    n_quotes integer check (n_quotes >= 0),  -- Needs of the point of kind quote
    n_quotes_lost integer check (n_quotes_lost between 0 and n_quotes),  -- Those of them that the context does not meet
    lost integer[],
    fetched integer[],
    n_fetches integer check (n_fetches >= 0),  -- How many these are
    refetch_tokens bigint check (refetch_tokens >= 0),  -- Tokens of these
    summary_calls integer check (summary_calls >= 0),
    summary_input_tokens bigint check (summary_input_tokens >= 0),  -- Tokens that they were sent; NULL where a call
    -- does not say
    summary_output_tokens bigint check (summary_output_tokens >= 0),  -- Tokens that they answered; NULL where a call
    -- does not say
    n_created_true integer check (n_created_true >= 0),
    n_created_told integer check (n_created_told >= 0),  -- Files of which the context tells that they were created
    n_created_right integer check (n_created_right <= least(n_created_true, n_created_told)),  -- Files that are in both
    n_modified_true integer check (n_modified_true >= 0),
    n_modified_told integer check (n_modified_told >= 0),  -- Files of which the context tells that they were modified
    n_modified_right integer check (n_modified_right <= least(n_modified_true, n_modified_told)),  -- Files that are in
    -- both
    n_read_true integer check (n_read_true >= 0),
    n_read_told integer check (n_read_told >= 0),  -- Files of which the context tells that they were read and never
    -- changed
    n_read_right integer check (n_read_right <= least(n_read_true, n_read_told)),  -- Files that are in both
    n_any_true integer check (n_any_true >= 0),
    n_any_told integer check (n_any_told >= 0),  -- Files of which the context tells that they were created, modified or
    -- read
    n_any_right integer check (n_any_right <= least(n_any_true, n_any_told)),  -- Files that are in both
    check (status <> 'done' or (n_needs is not null and refetch_tokens is not null and n_any_true is not null))
);
