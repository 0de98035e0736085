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
    session_id,
    files,
    count(*) as n_compactions,
    sum(n_true) as n_true,
    sum(n_told) as n_told,
    sum(n_right) as n_right,
    sum(n_right / nullif(n_told, 0)) as precision_sum,
    count(n_told) filter (where n_told > 0) as n_with_told,
    sum(n_right / nullif(n_true, 0)) as recall_sum,
    count(n_true) filter (where n_true > 0) as n_with_true
from long
group by method_id, session_id, files;

comment on column agg_kept_files.method_id is 'Identity of the method';
comment on column agg_kept_files.session_id is 'Session';
comment on column agg_kept_files.files is 'created, modified, read or any';
comment on column agg_kept_files.n_compactions is 'Compactions that are measured';
comment on column agg_kept_files.n_true is 'Files that the tool calls before the cut say';
comment on column agg_kept_files.n_told is 'Files that the contexts tell';
comment on column agg_kept_files.n_right is 'Files that are both';
comment on column agg_kept_files.precision_sum is 'Sum of the compactions'' precisions';
comment on column agg_kept_files.n_with_told is 'Compactions that tell a file';
comment on column agg_kept_files.recall_sum is 'Sum of the compactions'' recalls';
comment on column agg_kept_files.n_with_true is 'Compactions with a true file';
