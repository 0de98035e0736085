-- One row per judge × split × value of the split × dimension (and 'overall') with questions that both methods have a
-- score for.
--
-- Splits are task_type, length, probe_type, cycle, source, resolved and exit_status, and 'all' for no split, where the
-- value is 'all' too. The same comparison as in `paired_differences`: A - B, paired on the probe, clustered.
-- p_adjusted_of_pair is of another family: Holm's correction over the values and dimensions of a split, for this pair
-- alone. It holds for a pair that was named before its figures were seen, and not for one that was picked by them.
-- detectable_difference is the true difference that would be shown (95 %, not corrected) in 80 % of such data.
-- p_equivalent_of_pair is of a difference of 0.2 or more either way (`t_test_within`), with Holm's correction over the
-- same family: where it is small, the two are shown to be as good.
with probe_means as (
    select
        scored.judge_id,
        scored.dimension,
        scored.probe_id,
        stg_methods.method,
        any_value(scored.session_id) as session_id,
        any_value(scored.task_type) as task_type,
        any_value(scored.length) as length,
        any_value(scored.probe_type) as probe_type,
        any_value(scored.cycle) as cycle,
        avg(scored.score) as score
    from int_answer_scores as scored
    inner join stg_methods on scored.method_id = stg_methods.method_id
    where stg_methods.method in (getvariable('method_a'), getvariable('method_b'))
    group by scored.judge_id, scored.dimension, scored.probe_id, stg_methods.method
),

pairs as (
    select
        a.judge_id,
        a.dimension,
        a.session_id,
        stg_clusters.cluster,
        a.score as score_a,
        b.score as score_b,
        unnest([
            { 'split': 'all', 'value': 'all' },
            { 'split': 'task_type', 'value': a.task_type },
            { 'split': 'length', 'value': a.length },
            { 'split': 'probe_type', 'value': a.probe_type },
            { 'split': 'cycle', 'value': cast(a.cycle as varchar) },
            { 'split': 'source', 'value': sessions.source_format },
            { 'split': 'resolved', 'value': yes_or_no(sessions.resolved) },
            { 'split': 'exit_status', 'value': coalesce(sessions.exit_status, 'unknown') }
        ]) as label
    from probe_means as a
    inner join probe_means as b on a.judge_id = b.judge_id and a.dimension = b.dimension and a.probe_id = b.probe_id
    inner join sessions on a.session_id = sessions.session_id
    inner join stg_clusters on a.session_id = stg_clusters.session_id
    where a.method = getvariable('method_a') and b.method = getvariable('method_b')
),

clusters as (
    select
        judge_id,
        dimension,
        label.split,
        label.value,
        sum(score_a) as sum_a,
        sum(score_b) as sum_b,
        count(*) as n_pairs,
        count(distinct session_id) as n_sessions
    from pairs
    group by judge_id, dimension, label.split, label.value, cluster
),

figures as (
    select
        judge_id,
        split,
        value,
        dimension,
        sum(sum_a) / sum(n_pairs) as mean_a,
        sum(sum_b) / sum(n_pairs) as mean_b,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(sum_a - sum_b), list(n_pairs)) as difference
    from clusters
    group by judge_id, split, value, dimension
),

tested as (
    select
        *,
        t_test_of(difference) as p_value,
        t_test_within(difference.mean, difference.std_error, difference.df) as p_equivalent,
        (judge_id, split, is_in_overall(dimension)) as family
    from figures
),

stepped as (
    select
        *,
        p_step(p_value, family) as step,
        p_step(p_equivalent, family) as step_equivalent
    from tested
),

adjusted as (
    select
        *,
        holm(p_value, step, family) as p_adjusted,
        holm(p_equivalent, step_equivalent, family) as p_equivalent_adjusted
    from stepped
)

select
    adjusted.judge_id,
    judges.judge,
    adjusted.split,
    adjusted.value,
    adjusted.dimension,
    getvariable('method_a') as method_a,
    getvariable('method_b') as method_b,
    adjusted.mean_a,
    adjusted.mean_b,
    adjusted.difference.mean as difference,
    adjusted.difference.std_error,
    ci_low(adjusted.difference) as ci_low,
    ci_high(adjusted.difference) as ci_high,
    adjusted.p_value,
    adjusted.p_adjusted as p_adjusted_of_pair,
    adjusted.p_equivalent_adjusted as p_equivalent_of_pair,
    adjusted.difference.n as n_pairs,
    adjusted.n_sessions,
    adjusted.difference.n_clusters,
    detectable_difference(adjusted.difference) as detectable_difference,
    adjusted.difference.df
from adjusted
left join judges on adjusted.judge_id = judges.judge_id
order by judges.judge, adjusted.judge_id, adjusted.split, adjusted.value, adjusted.dimension
