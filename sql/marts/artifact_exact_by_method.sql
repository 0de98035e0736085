-- One row per method × use of files (created, modified, read, any).
--
-- pooled_…: all files of all compactions as one. mean_…: the mean over the compactions that have a figure, with its
-- interval, clustered by session.
create view artifact_exact_by_method as
with figures as (
    select
        method_id,
        files,
        sum(n_compactions) as n_compactions,
        count(*) as n_sessions,
        sum(n_true) as n_true,
        sum(n_told) as n_told,
        sum(n_right) as n_right,
        cluster_figures(
            list(precision_sum) filter (where n_with_told > 0), list(n_with_told) filter (where n_with_told > 0)
        ) as correct,
        cluster_figures(
            list(recall_sum) filter (where n_with_true > 0), list(n_with_true) filter (where n_with_true > 0)
        ) as found
    from agg_kept_files
    group by method_id, files
)

select
    stg_methods.method,
    figures.method_id,
    figures.files,
    figures.n_right / nullif(figures.n_told, 0) as pooled_precision,
    figures.n_right / nullif(figures.n_true, 0) as pooled_recall,
    figures.correct.mean as mean_precision,
    figures.correct.mean
    - t_quantile(0.975, figures.correct.df) * figures.correct.std_error as mean_precision_ci_low,
    figures.correct.mean
    + t_quantile(0.975, figures.correct.df) * figures.correct.std_error as mean_precision_ci_high,
    figures.found.mean as mean_recall,
    figures.found.mean - t_quantile(0.975, figures.found.df) * figures.found.std_error as mean_recall_ci_low,
    figures.found.mean + t_quantile(0.975, figures.found.df) * figures.found.std_error as mean_recall_ci_high,
    cast(figures.n_true as bigint) as n_true,
    cast(figures.n_told as bigint) as n_told,
    cast(figures.n_right as bigint) as n_right,
    cast(figures.n_compactions as bigint) as n_compactions,
    figures.n_sessions,
    stg_methods.is_current
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id;

comment on column artifact_exact_by_method.method is 'Name of the method, unique';
comment on column artifact_exact_by_method.method_id is 'Method';
comment on column artifact_exact_by_method.files is 'created, modified, read (and never changed), or any of these';
comment on column artifact_exact_by_method.pooled_precision is
'Files told rightly / files told, over all compactions; NULL where none is told';
comment on column artifact_exact_by_method.pooled_recall is
'Files told rightly / files that there are, over all compactions; NULL where there are none';
comment on column artifact_exact_by_method.mean_precision is 'Mean precision of the compactions that tell files';
comment on column artifact_exact_by_method.mean_precision_ci_low is
'Lower end of its 95 % interval, clustered by session; NULL with a single session';
comment on column artifact_exact_by_method.mean_precision_ci_high is 'Upper end of it';
comment on column artifact_exact_by_method.mean_recall is
'Mean recall of the compactions at whose point there are files';
comment on column artifact_exact_by_method.mean_recall_ci_low is
'Lower end of its 95 % interval, clustered by session; NULL with a single session';
comment on column artifact_exact_by_method.mean_recall_ci_high is 'Upper end of it';
comment on column artifact_exact_by_method.n_true is 'Files that there are, over all compactions';
comment on column artifact_exact_by_method.n_told is 'Files that the contexts tell';
comment on column artifact_exact_by_method.n_right is 'Files that are in both';
comment on column artifact_exact_by_method.n_compactions is 'Compactions that are measured';
comment on column artifact_exact_by_method.n_sessions is 'Sessions that they lie in';
comment on column artifact_exact_by_method.is_current is 'Whether the newest run of the study asks for the method';
