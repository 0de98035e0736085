-- One row per method × use of files (created, modified, read, any).
--
-- pooled_…: all files of all compactions as one. mean_…: the mean over the compactions that have a figure, with its
-- interval, clustered.
create view artifact_exact_by_method as
with per_cluster as (
    select
        kept.method_id,
        kept.files,
        sum(kept.n_compactions) as n_compactions,
        count(*) as n_sessions,
        sum(kept.n_true) as n_true,
        sum(kept.n_told) as n_told,
        sum(kept.n_right) as n_right,
        sum(kept.precision_sum) as precision_sum,
        sum(kept.n_with_told) as n_with_told,
        sum(kept.recall_sum) as recall_sum,
        sum(kept.n_with_true) as n_with_true
    from agg_kept_files as kept
    inner join stg_clusters on kept.session_id = stg_clusters.session_id
    group by kept.method_id, kept.files, stg_clusters.cluster
),

figures as (
    select
        method_id,
        files,
        sum(n_compactions) as n_compactions,
        cast(sum(n_sessions) as bigint) as n_sessions,
        count(*) as n_clusters,
        sum(n_true) as n_true,
        sum(n_told) as n_told,
        sum(n_right) as n_right,
        cluster_figures(
            list(precision_sum) filter (where n_with_told > 0), list(n_with_told) filter (where n_with_told > 0)
        ) as correct,
        cluster_figures(
            list(recall_sum) filter (where n_with_true > 0), list(n_with_true) filter (where n_with_true > 0)
        ) as found
    from per_cluster
    group by method_id, files
)

select
    stg_methods.method,  -- Name of the method, unique
    figures.method_id,  -- Method
    figures.files,  -- created, modified, read (and never changed), or any of these
    figures.n_right / nullif(figures.n_told, 0) as pooled_precision,  -- Files told rightly / files told, over all
    -- compactions; NULL where none is told
    figures.n_right / nullif(figures.n_true, 0) as pooled_recall,  -- Files told rightly / files that there are, over
    -- all compactions; NULL where there are none
    figures.correct.mean as mean_precision,  -- Mean precision of the compactions that tell files
    ci_low(figures.correct) as mean_precision_ci_low,  -- Lower end of its 95 % interval, clustered; NULL
    -- with a single cluster
    ci_high(figures.correct) as mean_precision_ci_high,  -- Upper end of it
    figures.found.mean as mean_recall,  -- Mean recall of the compactions at whose point there are files
    ci_low(figures.found) as mean_recall_ci_low,  -- Lower end of its 95 % interval, clustered; NULL with a
    -- single cluster
    ci_high(figures.found) as mean_recall_ci_high,  -- Upper end of it
    cast(figures.n_true as bigint) as n_true,  -- Files that there are, over all compactions
    cast(figures.n_told as bigint) as n_told,
    cast(figures.n_right as bigint) as n_right,  -- Files that are in both
    cast(figures.n_compactions as bigint) as n_compactions,
    figures.n_sessions,  -- Sessions that they lie in
    stg_methods.is_current,
    figures.n_clusters
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id;
