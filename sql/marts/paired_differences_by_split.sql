-- One row per judge × split × value of the split × dimension (and 'overall') × pair of methods with questions in
-- common.
--
-- Splits are task_type, length, probe_type, cycle and source, and 'all' for no split, where the value is 'all' too.
-- The same comparison as in paired_differences: paired on the probe, clustered by session, method_a before method_b
-- by name. p_adjusted is another family's: Holm's correction over the values and dimensions of this split for this
-- pair alone. It holds for a pair that was named before its figures were seen, and not for one that was picked by
-- them.
--
-- Ask for single pairs (`compare`, or `where method_id_a = … and method_id_b = …`): all pairs of a large store at
-- once take long.
create view paired_differences_by_split as
with probe_means as (
    select
        judge_id,
        method_id,
        dimension,
        session_id,
        probe_id,
        any_value(task_type) as task_type,
        any_value(length) as length,
        any_value(probe_type) as probe_type,
        any_value(cycle) as cycle,
        avg(score) as score
    from int_answer_scores
    group by judge_id, method_id, dimension, session_id, probe_id
),

named as (
    select
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        a.method as method_a,
        b.method as method_b,
        a.is_current and b.is_current as is_current
    from stg_methods as a
    inner join stg_methods as b on a.method < b.method
),

pairs as (
    select
        a.judge_id,
        a.dimension,
        named.method_id_a,
        named.method_id_b,
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
    from named
    inner join probe_means as a on named.method_id_a = a.method_id
    inner join probe_means as b
        on
            named.method_id_b = b.method_id
            and a.judge_id = b.judge_id
            and a.dimension = b.dimension
            and a.probe_id = b.probe_id
    inner join sessions on a.session_id = sessions.session_id
),

by_session as (
    select
        judge_id,
        label.split,
        label.value,
        dimension,
        method_id_a,
        method_id_b,
        session_id,
        sum(score_a) as sum_a,
        sum(score_b) as sum_b,
        sum(score_a - score_b) as difference_sum,
        count(*) as n_pairs
    from pairs
    group by judge_id, label.split, label.value, dimension, method_id_a, method_id_b, session_id
),

figures as (
    select
        judge_id,
        split,
        value,
        dimension,
        method_id_a,
        method_id_b,
        sum(sum_a) / sum(n_pairs) as mean_a,
        sum(sum_b) / sum(n_pairs) as mean_b,
        cluster_figures(list(difference_sum), list(n_pairs)) as difference
    from by_session
    group by judge_id, split, value, dimension, method_id_a, method_id_b
),

tested as (
    select
        judge_id,
        split,
        value,
        dimension,
        method_id_a,
        method_id_b,
        mean_a,
        mean_b,
        difference.mean as difference,
        difference.std_error,
        difference.df,
        difference.n as n_pairs,
        difference.n_clusters as n_sessions,
        t_quantile(0.975, difference.df) as t_975,
        t_quantile(0.8, difference.df) as t_800,
        t_test(difference.mean, difference.std_error, difference.df) as p_value
    from figures
),

-- Numbered from the largest p down, so that a p-value's number is how many comparisons are left at its turn. Those
-- without one come first and take no number from the others.
ordered as (
    select
        *,
        row_number() over (
            partition by judge_id, split, method_id_a, method_id_b, p_value is null
            order by p_value desc, value desc, dimension desc
        ) as n_left
    from tested
)

select
    ordered.judge_id,
    judges.judge,
    ordered.split,
    ordered.value,
    ordered.dimension,
    named.method_a,
    named.method_b,
    ordered.mean_a,
    ordered.mean_b,
    ordered.difference,
    ordered.std_error,
    ordered.difference - ordered.t_975 * ordered.std_error as ci_low,
    ordered.difference + ordered.t_975 * ordered.std_error as ci_high,
    ordered.p_value,
    case
        when ordered.p_value is not null
            then
                least(
                    1.0,
                    max(ordered.p_value * ordered.n_left) over (
                        partition by
                            ordered.judge_id, ordered.split, ordered.method_id_a, ordered.method_id_b,
                            ordered.p_value is null
                        order by ordered.n_left desc
                    )
                )
    end as p_adjusted,
    ordered.n_pairs,
    ordered.n_sessions,
    (ordered.t_975 + ordered.t_800) * ordered.std_error as detectable_difference,
    ordered.df,
    ordered.method_id_a,
    ordered.method_id_b,
    named.is_current
from ordered
inner join named on ordered.method_id_a = named.method_id_a and ordered.method_id_b = named.method_id_b
left join judges on ordered.judge_id = judges.judge_id
order by
    judges.judge, ordered.judge_id, named.method_a, named.method_b, ordered.split, ordered.value, ordered.dimension;

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
