-- One row per compaction that is done, with its measurement where there is one.
create view stg_measures as
select
    compactions.compaction_id,  -- Compaction that is measured
    compactions.point_id,  -- Compaction point
    compactions.method_id,
    points.session_id,
    points.cycle,  -- Number of the point in its session, from 1
    compactions.tokens_before,  -- Tokens before
    compactions.tokens_after,  -- Tokens after
    measures.status = 'done' as is_measured,  -- Whether it is measured
    case
        when measures.status = 'done' then null
        when measures.status is null then 'not measured yet'
        else measures.error
    end as reason,  -- Why it is not; NULL where it is
    measures.n_needs,  -- Needs of its point (table needs)
    measures.n_lost,  -- Those of them that the context does not meet
    measures.n_paths,  -- Needs of the point of kind path
    measures.n_paths_lost,  -- Those of them that the context does not meet
    measures.n_identifiers,  -- Needs of the point of kind identifier
    measures.n_identifiers_lost,  -- Those of them that the context does not meet
    measures.n_quotes,  -- Needs of the point of kind quote
    measures.n_quotes_lost,  -- Those of them that the context does not meet
    measures.lost,
    measures.fetched,
    measures.n_fetches,  -- How many these are
    measures.refetch_tokens,  -- Tokens of these
    measures.summary_calls,
    measures.summary_input_tokens,  -- Tokens that they were sent; NULL where a call does not say
    measures.summary_output_tokens,  -- Tokens that they answered; NULL where a call does not say
    measures.n_created_true,
    measures.n_created_told,  -- Files of which the context tells that they were created
    measures.n_created_right,  -- Files that are in both
    measures.n_modified_true,
    measures.n_modified_told,  -- Files of which the context tells that they were modified
    measures.n_modified_right,  -- Files that are in both
    measures.n_read_true,
    measures.n_read_told,  -- Files of which the context tells that they were read and never changed
    measures.n_read_right,  -- Files that are in both
    measures.n_any_true,
    measures.n_any_told,  -- Files of which the context tells that they were created, modified or read
    measures.n_any_right  -- Files that are in both
from compactions
inner join points on compactions.point_id = points.point_id
left join measures on compactions.compaction_id = measures.compaction_id
where compactions.status = 'done';
