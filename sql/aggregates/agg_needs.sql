-- One row per method × session: sums over its measured compactions.
create view agg_needs as
select
    method_id,
    (select m.method from stg_methods as m where m.method_id = stg_measures.method_id) as method,
    session_id,
    count(*) as n_compactions,
    sum(tokens_before) as tokens_before,  -- Tokens before, summed
    sum(tokens_after) as tokens_after,  -- Tokens after, summed
    sum(refetch_tokens) as refetch_tokens,  -- Tokens that have to be fetched again, summed
    sum(n_fetches) as n_fetches,  -- Tool results that have to be fetched again
    sum(n_needs) as n_needs,  -- Needs of the rest of the session
    sum(n_lost) as n_lost,  -- Of these, those that the contexts do not meet
    sum(n_paths) as n_paths,  -- Needs of kind path
    sum(n_paths_lost) as n_paths_lost,  -- Of these, lost
    sum(n_identifiers) as n_identifiers,  -- Needs of kind identifier
    sum(n_identifiers_lost) as n_identifiers_lost,  -- Of these, lost
    sum(n_quotes) as n_quotes,  -- Needs of kind quote
    sum(n_quotes_lost) as n_quotes_lost,  -- Of these, lost
    sum(summary_input_tokens) as summary_input_tokens,  -- Tokens sent by the model calls of the compactions
    sum(summary_output_tokens) as summary_output_tokens,  -- Tokens that these calls answered
    count(*) filter (where summary_input_tokens is null or summary_output_tokens is null)
        as n_summary_unknown  -- Compactions with a call that does not say its tokens
from stg_measures
where is_measured
group by method_id, session_id;
