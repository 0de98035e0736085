-- One row per judge × split × value of the split × dimension (and 'overall') with questions that both methods have a
-- score for.
--
-- Splits are task_type, length, probe_type, cycle and source, and 'all' for no split, where the value is 'all' too.
-- The same comparison as in `paired_differences`: A - B, paired on the probe, clustered by session. p_adjusted_of_pair
-- is of another family: Holm's correction over the values and dimensions of a split, for this pair alone. It holds for
-- a pair that was named before its figures were seen, and not for one that was picked by them. detectable_difference is
-- the true difference that would be shown (95 %, not corrected) in 80 % of such data.
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
        a.score as score_a,
        b.score as score_b,
        unnest([
            { 'split': 'all', 'value': 'all' },
            { 'split': 'task_type', 'value': a.task_type },
            { 'split': 'length', 'value': a.length },
            { 'split': 'probe_type', 'value': a.probe_type },
            { 'split': 'cycle', 'value': cast(a.cycle as varchar) },
            { 'split': 'source', 'value': sessions.source_format }
        ]) as label
    from probe_means as a
    inner join probe_means as b on a.judge_id = b.judge_id and a.dimension = b.dimension and a.probe_id = b.probe_id
    inner join sessions on a.session_id = sessions.session_id
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
        count(*) as n_pairs
    from pairs
    group by judge_id, dimension, label.split, label.value, session_id
),

figures as (
    select
        judge_id,
        split,
        value,
        dimension,
        sum(sum_a) / sum(n_pairs) as mean_a,
        sum(sum_b) / sum(n_pairs) as mean_b,
        cluster_figures(list(sum_a - sum_b), list(n_pairs)) as difference
    from clusters
    group by judge_id, split, value, dimension
),

tested as (
    select
        *,
        t_quantile(0.975, difference.df) as t_975,
        t_quantile(0.8, difference.df) as t_800,
        t_test(difference.mean, difference.std_error, difference.df) as p_value
    from figures
),

stepped as (
    select
        *,
        p_step(p_value, (judge_id, split, is_in_overall(dimension))) as step
    from tested
)

select
    stepped.judge_id,
    judges.judge,
    stepped.split,
    stepped.value,
    stepped.dimension,
    getvariable('method_a') as method_a,
    getvariable('method_b') as method_b,
    stepped.mean_a,
    stepped.mean_b,
    stepped.difference.mean as difference,
    stepped.difference.std_error,
    stepped.difference.mean - stepped.t_975 * stepped.difference.std_error as ci_low,
    stepped.difference.mean + stepped.t_975 * stepped.difference.std_error as ci_high,
    stepped.p_value,
    holm(stepped.p_value, stepped.step, (stepped.judge_id, stepped.split, is_in_overall(stepped.dimension)))
        as p_adjusted_of_pair,
    stepped.difference.n as n_pairs,
    stepped.difference.n_clusters as n_sessions,
    (stepped.t_975 + stepped.t_800) * stepped.difference.std_error as detectable_difference,
    stepped.difference.df
from stepped
left join judges on stepped.judge_id = judges.judge_id
order by judges.judge, stepped.judge_id, stepped.split, stepped.value, stepped.dimension
