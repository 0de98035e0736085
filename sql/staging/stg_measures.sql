-- One row per compaction that is done, with its measurement where there is one.
create view stg_measures as
select
    compactions.compaction_id,
    compactions.point_id,
    compactions.method_id,
    points.session_id,
    points.cycle,
    compactions.tokens_before,
    compactions.tokens_after,
    measures.status = 'done' as is_measured,
    case
        when measures.status = 'done' then null
        when measures.status is null then 'not measured yet'
        else measures.error
    end as reason,
    measures.n_needs,
    measures.n_lost,
    measures.n_paths,
    measures.n_paths_lost,
    measures.n_identifiers,
    measures.n_identifiers_lost,
    measures.n_quotes,
    measures.n_quotes_lost,
    measures.lost,
    measures.fetched,
    measures.n_fetches,
    measures.refetch_tokens,
    measures.summary_calls,
    measures.summary_input_tokens,
    measures.summary_output_tokens,
    measures.n_created_true,
    measures.n_created_told,
    measures.n_created_right,
    measures.n_modified_true,
    measures.n_modified_told,
    measures.n_modified_right,
    measures.n_read_true,
    measures.n_read_told,
    measures.n_read_right,
    measures.n_any_true,
    measures.n_any_told,
    measures.n_any_right
from compactions
inner join points on compactions.point_id = points.point_id
left join measures on compactions.compaction_id = measures.compaction_id
where compactions.status = 'done';

comment on column stg_measures.compaction_id is 'Compaction that is measured';
comment on column stg_measures.point_id is 'Compaction point';
comment on column stg_measures.method_id is 'Identity of the method';
comment on column stg_measures.session_id is 'Session';
comment on column stg_measures.cycle is 'Number of the point in its session, from 1';
comment on column stg_measures.tokens_before is 'Tokens before';
comment on column stg_measures.tokens_after is 'Tokens after';
comment on column stg_measures.is_measured is 'Whether it is measured';
comment on column stg_measures.reason is 'Why it is not; NULL where it is';
comment on column stg_measures.n_needs is 'Needs of its point (table needs)';
comment on column stg_measures.n_lost is 'Those of them that the context does not meet';
comment on column stg_measures.n_paths is 'Needs of the point of kind path';
comment on column stg_measures.n_paths_lost is 'Those of them that the context does not meet';
comment on column stg_measures.n_identifiers is 'Needs of the point of kind identifier';
comment on column stg_measures.n_identifiers_lost is 'Those of them that the context does not meet';
comment on column stg_measures.n_quotes is 'Needs of the point of kind quote';
comment on column stg_measures.n_quotes_lost is 'Those of them that the context does not meet';
comment on column stg_measures.lost is 'Numbers of the needs that the context does not meet';
comment on column stg_measures.fetched is
'Tool results (seq) that have to be fetched again for them, each once, in the order in which they are needed';
comment on column stg_measures.n_fetches is 'How many these are';
comment on column stg_measures.refetch_tokens is 'Tokens of these';
comment on column stg_measures.summary_calls is 'Model calls that made the compaction, from the cache or not';
comment on column stg_measures.summary_input_tokens is 'Tokens that they were sent; NULL where a call does not say';
comment on column stg_measures.summary_output_tokens is 'Tokens that they answered; NULL where a call does not say';
comment on column stg_measures.n_created_true is 'Files that the tool calls before the point created';
comment on column stg_measures.n_created_told is 'Files of which the context tells that they were created';
comment on column stg_measures.n_created_right is 'Files that are in both';
comment on column stg_measures.n_modified_true is 'Files that the tool calls before the point modified';
comment on column stg_measures.n_modified_told is 'Files of which the context tells that they were modified';
comment on column stg_measures.n_modified_right is 'Files that are in both';
comment on column stg_measures.n_read_true is 'Files that the tool calls before the point read and never changed';
comment on column stg_measures.n_read_told is 'Files of which the context tells that they were read and never changed';
comment on column stg_measures.n_read_right is 'Files that are in both';
comment on column stg_measures.n_any_true is 'Files that the tool calls before the point created, modified or read';
comment on column stg_measures.n_any_told is
'Files of which the context tells that they were created, modified or read';
comment on column stg_measures.n_any_right is 'Files that are in both';
