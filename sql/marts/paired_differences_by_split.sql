-- One row per judge × split × value of the split × dimension (and 'overall') × pair of methods with questions in
-- common.
--
-- Splits are task_type, length, probe_type, cycle and source, and 'all' for no split, where the value is 'all' too.
-- The same comparison as in paired_differences: paired on the probe, clustered by session, method_a before method_b
-- by name. p_adjusted is another family's: Holm's correction over the values and dimensions of this split for this
-- pair alone. It holds for a pair that was named before its figures were seen, and not for one that was picked by
-- them.
--
-- A load makes a table of it (`flows.database.scores_db.MATERIALIZED`): a store of 54 methods has hundreds of
-- thousands of rows.
--
-- Methods are not joined probe by probe, which would take most of the time, but set by set of probes that the same
-- methods have a score for: within such a set the difference of two methods is that of their sums.
create view paired_differences_by_split as
with numbered_methods as (
    select
        method_id,
        method,
        is_current,
        row_number() over (order by method) as method_number
    from stg_methods
),

probe_means as materialized (
    select
        scored.judge_id,
        scored.dimension,
        scored.session_id,
        scored.probe_id,
        numbered_methods.method_number,
        any_value(scored.task_type) as task_type,
        any_value(scored.length) as length,
        any_value(scored.probe_type) as probe_type,
        any_value(scored.cycle) as cycle,
        avg(scored.score) as score
    from int_answer_scores as scored
    inner join numbered_methods on scored.method_id = numbered_methods.method_id
    group by
        scored.judge_id, scored.dimension, scored.session_id, scored.probe_id, numbered_methods.method_number
),

-- The parts of a session: all of its probes, those of one type, those of one cycle.
labelled_probes as (
    select
        judge_id,
        dimension,
        session_id,
        probe_id,
        any_value(task_type) as task_type,
        any_value(length) as length,
        list_sort(list(method_number)) as method_numbers,
        unnest([
            { 'split': 'all', 'value': 'all' },
            { 'split': 'probe_type', 'value': any_value(probe_type) },
            { 'split': 'cycle', 'value': cast(any_value(cycle) as varchar) }
        ]) as label
    from probe_means
    group by judge_id, dimension, session_id, probe_id
),

probe_sets as materialized (
    select
        row_number() over () as set_number,
        dense_rank() over (order by judge_id, dimension, session_id, label) as cluster_number,
        judge_id,
        dimension,
        session_id,
        label,
        any_value(task_type) as task_type,
        any_value(length) as length,
        list(probe_id) as probe_ids
    from labelled_probes
    group by judge_id, dimension, session_id, label, method_numbers
),

probes_of_sets as (
    select
        set_number,
        cluster_number,
        judge_id,
        dimension,
        unnest(probe_ids) as probe_id
    from probe_sets
),

set_sums as materialized (
    select
        probes_of_sets.set_number,
        probes_of_sets.cluster_number,
        probe_means.method_number,
        sum(probe_means.score) as score_sum,
        count(*) as n_probes
    from probe_means
    inner join probes_of_sets
        on
            probe_means.judge_id = probes_of_sets.judge_id
            and probe_means.dimension = probes_of_sets.dimension
            and probe_means.probe_id = probes_of_sets.probe_id
    group by probes_of_sets.set_number, probes_of_sets.cluster_number, probe_means.method_number
),

cluster_pairs as materialized (
    select
        a.cluster_number,
        a.method_number as number_a,
        b.method_number as number_b,
        sum(a.score_sum) as sum_a,
        sum(b.score_sum) as sum_b,
        cast(sum(a.n_probes) as double) as n_pairs
    from set_sums as a
    inner join set_sums as b on a.set_number = b.set_number and a.method_number < b.method_number
    group by a.cluster_number, a.method_number, b.method_number
),

-- What is the same for all of a session is a split of sessions, whole.
clusters as (
    select
        probe_sets.cluster_number,
        probe_sets.judge_id,
        probe_sets.dimension,
        unnest(
            case
                when probe_sets.label.split = 'all'
                    then [
                        probe_sets.label,
                        { 'split': 'task_type', 'value': any_value(probe_sets.task_type) },
                        { 'split': 'length', 'value': any_value(probe_sets.length) },
                        { 'split': 'source', 'value': any_value(sessions.source_format) }
                    ]
                else [probe_sets.label]
            end
        ) as label
    from probe_sets
    inner join sessions on probe_sets.session_id = sessions.session_id
    group by probe_sets.cluster_number, probe_sets.judge_id, probe_sets.dimension, probe_sets.label
),

parts as materialized (
    select
        cluster_number,
        judge_id,
        dimension,
        label.split,
        label.value,
        dense_rank() over (order by judge_id, dimension, label) as part_number
    from clusters
),

labels as (
    select
        part_number,
        judge_id,
        dimension,
        split,
        value
    from parts
    group by part_number, judge_id, dimension, split, value
),

wholes as (
    select
        parts.part_number,
        cluster_pairs.number_a,
        cluster_pairs.number_b,
        sum(cluster_pairs.sum_a) as sum_a,
        sum(cluster_pairs.sum_b) as sum_b,
        sum(cluster_pairs.n_pairs) as n_pairs
    from cluster_pairs
    inner join parts on cluster_pairs.cluster_number = parts.cluster_number
    group by parts.part_number, cluster_pairs.number_a, cluster_pairs.number_b
),

summed as (
    select
        parts.part_number,
        cluster_pairs.number_a,
        cluster_pairs.number_b,
        any_value(wholes.sum_a) / any_value(wholes.n_pairs) as mean_a,
        any_value(wholes.sum_b) / any_value(wholes.n_pairs) as mean_b,
        cluster_sums(
            cluster_pairs.sum_a - cluster_pairs.sum_b,
            cluster_pairs.n_pairs,
            wholes.sum_a - wholes.sum_b,
            wholes.n_pairs
        ) as sums
    from cluster_pairs
    inner join parts on cluster_pairs.cluster_number = parts.cluster_number
    inner join wholes
        on
            parts.part_number = wholes.part_number
            and cluster_pairs.number_a = wholes.number_a
            and cluster_pairs.number_b = wholes.number_b
    group by parts.part_number, cluster_pairs.number_a, cluster_pairs.number_b
),

figures as materialized (
    select
        part_number,
        number_a,
        number_b,
        mean_a,
        mean_b,
        figures_of_sums(sums) as difference
    from summed
),

-- A row shares its degrees of freedom with many others, and a quantile takes longer than the rest of a row.
quantiles as (
    select
        df,
        t_quantile(0.975, df) as t_975,
        t_quantile(0.8, df) as t_800
    from (select distinct difference.df from figures) as found
),

tested as (
    select
        labels.judge_id,
        labels.split,
        labels.value,
        labels.dimension,
        figures.number_a,
        figures.number_b,
        figures.mean_a,
        figures.mean_b,
        figures.difference.mean as difference,
        figures.difference.std_error,
        figures.difference.df,
        figures.difference.n as n_pairs,
        figures.difference.n_clusters as n_sessions,
        quantiles.t_975,
        quantiles.t_800,
        t_test(figures.difference.mean, figures.difference.std_error, figures.difference.df) as p_value
    from figures
    inner join labels on figures.part_number = labels.part_number
    left join quantiles on figures.difference.df = quantiles.df
),

stepped as (
    select
        *,
        p_step(p_value, (judge_id, split, number_a, number_b)) as step
    from tested
)

select
    stepped.judge_id,
    judges.judge,
    stepped.split,
    stepped.value,
    stepped.dimension,
    a.method as method_a,
    b.method as method_b,
    stepped.mean_a,
    stepped.mean_b,
    stepped.difference,
    stepped.std_error,
    stepped.difference - stepped.t_975 * stepped.std_error as ci_low,
    stepped.difference + stepped.t_975 * stepped.std_error as ci_high,
    stepped.p_value,
    holm(stepped.p_value, stepped.step, (stepped.judge_id, stepped.split, stepped.number_a, stepped.number_b))
        as p_adjusted,
    stepped.n_pairs,
    stepped.n_sessions,
    (stepped.t_975 + stepped.t_800) * stepped.std_error as detectable_difference,
    stepped.df,
    a.method_id as method_id_a,
    b.method_id as method_id_b,
    a.is_current and b.is_current as is_current
from stepped
inner join numbered_methods as a on stepped.number_a = a.method_number
inner join numbered_methods as b on stepped.number_b = b.method_number
left join judges on stepped.judge_id = judges.judge_id
order by
    judges.judge, stepped.judge_id, a.method, b.method, stepped.split, stepped.value, stepped.dimension;

comment on column paired_differences_by_split.judge_id is 'Judge version';
comment on column paired_differences_by_split.judge is 'embedded (no language model) or the spec of a model';
comment on column paired_differences_by_split.split is 'all, task_type, length, probe_type, cycle or source';
comment on column paired_differences_by_split.value is 'Value of the split, as text';
comment on column paired_differences_by_split.dimension is 'Dimension of the rubric, or overall';
comment on column paired_differences_by_split.method_a is 'Name of the one method';
comment on column paired_differences_by_split.method_b is 'Name of the other, later in the alphabet';
comment on column paired_differences_by_split.mean_a is 'Mean of method_a on the questions that both have, 0 to 5';
comment on column paired_differences_by_split.mean_b is 'Mean of method_b on the same questions, 0 to 5';
comment on column paired_differences_by_split.difference is 'mean_a - mean_b: above 0 method_a is better';
comment on column paired_differences_by_split.std_error is
'Standard error of the difference, clustered by session; NULL with a single session';
comment on column paired_differences_by_split.ci_low is 'Lower end of the 95 % interval of the difference';
comment on column paired_differences_by_split.ci_high is 'Upper end of the 95 % interval of the difference';
comment on column paired_differences_by_split.p_value is
'Two-sided p-value of no difference (t with df degrees of freedom)';
comment on column paired_differences_by_split.p_adjusted is
'The same after Holm''s correction over the values and dimensions of this split, for this pair alone';
comment on column paired_differences_by_split.n_pairs is 'Questions that both methods have a score for';
comment on column paired_differences_by_split.n_sessions is 'Sessions that these questions are of';
comment on column paired_differences_by_split.detectable_difference is
'True difference that would be shown (95 %, not corrected) in 80 % of such data';
comment on column paired_differences_by_split.df is 'Degrees of freedom of std_error';
comment on column paired_differences_by_split.method_id_a is 'Identity of method_a';
comment on column paired_differences_by_split.method_id_b is 'Identity of method_b';
comment on column paired_differences_by_split.is_current is
'Whether the newest run of the study asks for both methods';
