-- One row per judge × dimension (and 'overall') × baseline × other method with questions in common: is the method
-- better than the one that is in use?
--
-- Every current method is a baseline in turn: filter by `baseline`, or by `is_default`. The differences are those of
-- `paired_differences`, method - baseline. They are corrected over the comparisons with this one baseline in this
-- dimension, k - 1 for k methods, where all pairs are k (k - 1) / 2: whoever names the baseline before looking sees
-- smaller differences. The controls (none, empty) are no method to choose, and a family by themselves.
--
-- p_adjusted is Holm's (1979). p_fdr is Benjamini and Hochberg's (1995): of all rows below 0.05 at most one in twenty
-- is expected to be wrong; for a first look, not for a claim.
--
-- Not to be told apart is not to be as good. p_equivalent is of two one-sided tests (Schuirmann 1987): small where the
-- difference is shown to be less than 0.2 either way (`margin`). p_not_worse is the one of them that a choice by price
-- needs: small where the method is shown to be at most 0.2 worse, or better. Both have Holm's correction beside them.
--
-- is_default marks the baseline that is taken where none is named (`agg_default_baselines`).
create view against_baseline as
with both_ways as (
    select
        judge_id,
        dimension,
        method_id_a as method_id,
        method_id_b as baseline_id,
        difference,
        std_error,
        df,
        p_value,
        n_pairs,
        n_sessions,
        n_clusters
    from agg_method_pairs
    union all
    select
        judge_id,
        dimension,
        method_id_b as method_id,
        method_id_a as baseline_id,
        -difference as difference,
        std_error,
        df,
        p_value,
        n_pairs,
        n_sessions,
        n_clusters
    from agg_method_pairs
),

tested as (
    select
        both_ways.*,
        method.method,
        baseline.method as baseline,
        method.is_control,
        t_test_above(both_ways.difference + margin(), both_ways.std_error, both_ways.df) as p_not_worse,
        t_test_within(both_ways.difference, both_ways.std_error, both_ways.df) as p_equivalent,
        (both_ways.judge_id, both_ways.dimension, both_ways.baseline_id, method.is_control) as family
    from both_ways
    inner join stg_methods as method on both_ways.method_id = method.method_id
    inner join stg_methods as baseline on both_ways.baseline_id = baseline.method_id
    where method.is_current and baseline.is_current
),

placed as (
    select
        *,
        p_step(p_value, family) as step,
        p_step(p_not_worse, family) as step_not_worse,
        p_step(p_equivalent, family) as step_equivalent,
        fdr_step(p_value, family) as step_fdr,
        list_transform([0.975, 0.8], lambda p: t_quantile(p, df)) as quantiles
    from tested
),

corrected as (
    select
        *,
        holm(p_value, step, family) as p_adjusted,
        fdr(p_value, step_fdr, family) as p_fdr,
        holm(p_not_worse, step_not_worse, family) as p_not_worse_adjusted,
        holm(p_equivalent, step_equivalent, family) as p_equivalent_adjusted
    from placed
)

select
    corrected.judge_id,
    judges.judge,
    corrected.dimension,
    corrected.baseline,  -- Name of the method that the other is compared with
    corrected.method,  -- Name of the method
    corrected.difference,  -- Mean over shared probes of the method's score less the baseline's, -5 to 5; above 0: the
    -- method is better
    corrected.std_error,  -- Standard error of the difference, clustered (CR2); NULL with a single cluster
    corrected.difference - corrected.quantiles[1] * nullif(corrected.std_error, 0) as ci_low,  -- Lower end of the
    -- 95 % interval of the difference (Student's t with df degrees of freedom), for this row alone; NULL where no
    -- session differs from another
    corrected.difference + corrected.quantiles[1] * nullif(corrected.std_error, 0) as ci_high,  -- Upper end of it
    corrected.p_value,  -- Two-sided p-value of no difference, for this row alone
    corrected.p_adjusted,  -- p_value after Holm's correction over the methods that are compared with the baseline
    corrected.p_fdr,  -- p_value as a false discovery rate over the same methods (Benjamini and Hochberg)
    corrected.p_not_worse,  -- One-sided p-value of the method being worse by 0.2 or more, for this row alone; NULL
    -- where no session differs from another
    corrected.p_not_worse_adjusted,  -- p_not_worse after Holm's correction over the same methods
    corrected.p_equivalent,  -- p-value of a difference of 0.2 or more, either way (two one-sided tests), for this row
    -- alone; NULL where no session differs from another
    corrected.p_equivalent_adjusted,  -- p_equivalent after Holm's correction over the same methods
    case
        when corrected.p_value is null then null
        when corrected.p_adjusted < 0.05 and corrected.difference > 0 then 'better'
        when corrected.p_adjusted < 0.05 and corrected.p_not_worse_adjusted < 0.05 then 'a little worse'
        when corrected.p_adjusted < 0.05 then 'worse'
        when corrected.p_equivalent_adjusted < 0.05 then 'as good'
        when corrected.p_not_worse_adjusted < 0.05 then 'not worse'
        else 'cannot tell'
    end as says,  -- better, worse (p_adjusted); a little worse: shown to be worse, and by less than 0.2; as good
    -- (p_equivalent_adjusted); not worse (p_not_worse_adjusted); cannot tell; NULL with a single cluster
    (corrected.quantiles[1] + corrected.quantiles[2]) * nullif(corrected.std_error, 0) as detectable_difference,  -- The
    -- smallest true difference that this data would have shown with 80 % power (5 % two-sided, before any correction)
    corrected.n_pairs,  -- Probes that both have a score for
    corrected.n_sessions,  -- Sessions that these probes are of
    corrected.df,  -- Degrees of freedom of the standard error
    corrected.is_control,  -- Whether the method is none or empty: no method to choose, and not in the others' family
    defaults.method_id is not null as is_default,  -- Whether the baseline is the one that is taken where none is named
    corrected.baseline_id,  -- Identity of the baseline
    corrected.method_id,
    corrected.n_clusters
from corrected
left join judges on corrected.judge_id = judges.judge_id
left join agg_default_baselines as defaults
    on corrected.judge_id = defaults.judge_id and corrected.baseline_id = defaults.method_id
order by
    judges.judge asc, corrected.judge_id asc, corrected.dimension asc, corrected.baseline asc,
    corrected.difference desc, corrected.method asc;
