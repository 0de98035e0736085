-- One row per judge × dimension (and 'overall') × pair of methods (method_a before method_b by name) with questions in
-- common.
--
-- The difference a - b is paired on the probe: both methods' means over their replicates, for the probes that both have
-- a score for. So what differs between questions cancels, and a compaction that failed under one method takes its
-- probes out of the comparison and changes it in no other way. Error and interval are clustered
-- (`cluster_figures`). With a single cluster there is no error (NULL), so no p-value either.
--
-- p_adjusted is Holm's (1979) over all pairs and dimensions of the judge, overall included, that have a p-value
-- (constraints, which are no part of overall, are a family of their own):
-- whoever picks rows below 0.05 out of the whole view has picked a false one with a probability of at most 5 %.
-- p_adjusted_in_dimension is Holm's over the pairs of one dimension, for who looks at that dimension alone;
-- `leaderboard.tie_group` stands on it. p_adjusted_of_pair is Holm's over the dimensions of one pair, for who wanted to
-- know of that pair before seeing any; it is what `compaction-eval compare` shows.
--
-- Where no session differs from another (standard error 0), there is nothing to doubt within this data: p_value is 0
-- when there is a difference, and 1 when the methods scored exactly the same. How far other sessions would differ is
-- then unknown: there is no interval and no detectable difference.
--
-- Corrections are over the pairs of current methods; pairs with an earlier version are a family of their own.
create view paired_differences as
with paired as (
    select
        agg_method_pairs.judge_id,
        agg_method_pairs.dimension,
        agg_method_pairs.std_error,
        agg_method_pairs.df,
        agg_method_pairs.p_value,
        agg_method_pairs.n_pairs,
        agg_method_pairs.n_sessions,
        agg_method_pairs.n_clusters,
        case when a.method < b.method then 1 else -1 end * agg_method_pairs.difference as difference,
        least(a.method, b.method) as method_a,
        greatest(a.method, b.method) as method_b,
        case when a.method < b.method then a.method_id else b.method_id end as method_id_a,
        case when a.method < b.method then b.method_id else a.method_id end as method_id_b,
        a.is_current and b.is_current as is_current
    from agg_method_pairs
    inner join stg_methods as a on agg_method_pairs.method_id_a = a.method_id
    inner join stg_methods as b on agg_method_pairs.method_id_b = b.method_id
),

placed as (
    select
        *,
        list_transform([0.975, 0.8], lambda p: t_quantile(p, df)) as quantiles,
        p_step(p_value, (judge_id, is_current, is_in_overall(dimension))) as step,
        p_step(p_value, (judge_id, is_current, dimension)) as step_in_dimension,
        p_step(p_value, (judge_id, method_a, method_b, is_in_overall(dimension))) as step_of_pair
    from paired
)

select
    placed.judge_id,
    judges.judge,
    placed.dimension,
    placed.method_a,  -- Name of the method that the other is taken from
    placed.method_b,  -- Name of the method that is taken from it; after method_a by name
    placed.difference,  -- Mean over shared probes of the score of method_a less that of method_b, -5 to 5; above 0:
    -- method_a is better
    placed.std_error,  -- Standard error of the difference, clustered (CR2); NULL with a single cluster
    placed.difference - placed.quantiles[1] * nullif(placed.std_error, 0) as ci_low,  -- Lower end of the 95 %
    -- interval of the difference (Student's t with df degrees of freedom), for this row alone; NULL where no session
    -- differs from another
    placed.difference + placed.quantiles[1] * nullif(placed.std_error, 0) as ci_high,  -- Upper end of it
    placed.p_value,  -- Two-sided p-value of no difference, for this row alone; without any variance 0 (a difference) or
    -- 1 (exactly the same)
    holm(placed.p_value, placed.step, (placed.judge_id, placed.is_current, is_in_overall(placed.dimension)))
        as p_adjusted,  -- p_value after Holm's correction over all pairs of current methods and dimensions of the
    -- judge, overall included
    placed.n_pairs,  -- Probes that both methods have a score for
    placed.n_sessions,  -- Sessions that these probes are of
    (placed.quantiles[1] + placed.quantiles[2]) * nullif(placed.std_error, 0) as detectable_difference,  -- Smallest
    -- true difference that this data would have shown with 80 % power (5 % two-sided, before any correction); NULL
    -- where there is no interval
    placed.df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few
    -- hold most probes
    holm(placed.p_value, placed.step_in_dimension, (placed.judge_id, placed.is_current, placed.dimension))
        as p_adjusted_in_dimension,  -- p_value after Holm's correction over the pairs of the judge in this dimension
    holm(
        placed.p_value,
        placed.step_of_pair,
        (placed.judge_id, placed.method_a, placed.method_b, is_in_overall(placed.dimension))
    ) as p_adjusted_of_pair,  -- p_value after Holm's correction over the dimensions of this pair, overall included
    -- (constraints by themselves)
    placed.method_id_a,  -- Identity of method_a
    placed.method_id_b,  -- Identity of method_b
    placed.is_current,  -- Whether the newest run of the study asks for both methods
    placed.n_clusters
from placed
left join judges on placed.judge_id = judges.judge_id
order by judges.judge, placed.judge_id, placed.dimension, placed.method_a, placed.method_b;
