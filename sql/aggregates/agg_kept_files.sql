-- One row per method × session × use of files (created, modified, read, any): sums over its measured compactions.
create view agg_kept_files as
with long as (
    select
        method_id,
        session_id,
        'created' as files,
        n_created_true as n_true,
        n_created_told as n_told,
        n_created_right as n_right
    from stg_measures
    where is_measured
    union all
    select
        method_id,
        session_id,
        'modified' as files,
        n_modified_true as n_true,
        n_modified_told as n_told,
        n_modified_right as n_right
    from stg_measures
    where is_measured
    union all
    select
        method_id,
        session_id,
        'read' as files,
        n_read_true as n_true,
        n_read_told as n_told,
        n_read_right as n_right
    from stg_measures
    where is_measured
    union all
    select
        method_id,
        session_id,
        'any' as files,
        n_any_true as n_true,
        n_any_told as n_told,
        n_any_right as n_right
    from stg_measures
    where is_measured
)

select
    method_id,
    (select m.method from stg_methods as m where m.method_id = long.method_id) as method,
    session_id,
    files,  -- created, modified, read or any
    count(*) as n_compactions,
    sum(n_true) as n_true,  -- Files that the tool calls before the cut say
    sum(n_told) as n_told,
    sum(n_right) as n_right,  -- Files that are both
    sum(n_right / nullif(n_told, 0)) as precision_sum,  -- Sum of the compactions' precisions
    count(n_told) filter (where n_told > 0) as n_with_told,  -- Compactions that tell a file
    sum(n_right / nullif(n_true, 0)) as recall_sum,  -- Sum of the compactions' recalls
    count(n_true) filter (where n_true > 0) as n_with_true  -- Compactions with a true file
from long
group by method_id, session_id, files;
