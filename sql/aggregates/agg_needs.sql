-- One row per method × session: sums over its measured compactions.
create view agg_needs as
select
    method_id,
    session_id,
    count(*) as n_compactions,
    sum(tokens_before) as tokens_before,
    sum(tokens_after) as tokens_after,
    sum(refetch_tokens) as refetch_tokens,
    sum(n_fetches) as n_fetches,
    sum(n_needs) as n_needs,
    sum(n_lost) as n_lost,
    sum(n_paths) as n_paths,
    sum(n_paths_lost) as n_paths_lost,
    sum(n_identifiers) as n_identifiers,
    sum(n_identifiers_lost) as n_identifiers_lost,
    sum(n_quotes) as n_quotes,
    sum(n_quotes_lost) as n_quotes_lost,
    sum(summary_input_tokens) as summary_input_tokens,
    sum(summary_output_tokens) as summary_output_tokens,
    count(*) filter (where summary_input_tokens is null or summary_output_tokens is null) as n_summary_unknown
from stg_measures
where is_measured
group by method_id, session_id;

comment on column agg_needs.method_id is 'Identity of the method';
comment on column agg_needs.session_id is 'Session';
comment on column agg_needs.n_compactions is 'Compactions that are measured';
comment on column agg_needs.tokens_before is 'Tokens before, summed';
comment on column agg_needs.tokens_after is 'Tokens after, summed';
comment on column agg_needs.refetch_tokens is 'Tokens that have to be fetched again, summed';
comment on column agg_needs.n_fetches is 'Tool results that have to be fetched again';
comment on column agg_needs.n_needs is 'Needs of the rest of the session';
comment on column agg_needs.n_lost is 'Of these, those that the contexts do not meet';
comment on column agg_needs.n_paths is 'Needs of kind path';
comment on column agg_needs.n_paths_lost is 'Of these, lost';
comment on column agg_needs.n_identifiers is 'Needs of kind identifier';
comment on column agg_needs.n_identifiers_lost is 'Of these, lost';
comment on column agg_needs.n_quotes is 'Needs of kind quote';
comment on column agg_needs.n_quotes_lost is 'Of these, lost';
comment on column agg_needs.summary_input_tokens is 'Tokens sent by the model calls of the compactions';
comment on column agg_needs.summary_output_tokens is 'Tokens that these calls answered';
comment on column agg_needs.n_summary_unknown is 'Compactions with a call that does not say its tokens';
