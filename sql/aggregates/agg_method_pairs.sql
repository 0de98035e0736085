-- One row per judge × dimension (and 'overall') × pair of methods with questions in common; each pair stands once, in
-- either order.
--
-- The difference a - b is paired on the probe: both methods' means over their replicates, for the probes that both
-- have a score for. So a compaction that failed under one method changes no comparison but by taking its probes out of
-- it. The standard error is clustered by session (`cluster_figures`); NULL with a single session.
--
-- What takes the time is the join of a probe's methods with each other. So the study's dimensions go side by side; and
-- first the probes of a session are summed that have scores for the same methods and dimensions (a cell), because over
-- these the sum of differences is the difference of sums. Other dimensions, which most stores do not have, come the
-- long way.
create view agg_method_pairs as
with probe_scores as materialized (
    select
        judge_id,
        method_number,
        session_number,
        probe_number,
        overall / n_overall as overall,
        accuracy / n_accuracy as accuracy,
        context_awareness / n_context_awareness as context_awareness,
        artifact_trail / n_artifact_trail as artifact_trail,
        completeness / n_completeness as completeness,
        continuity / n_continuity as continuity,
        instruction_following / n_instruction_following as instruction_following
    from int_probe_dimensions
),

presence as (
    select
        judge_id,
        session_number,
        probe_number,
        list_sort(
            list(
                128 * method_number
                + cast(overall is not null as integer)
                + 2 * cast(accuracy is not null as integer)
                + 4 * cast(context_awareness is not null as integer)
                + 8 * cast(artifact_trail is not null as integer)
                + 16 * cast(completeness is not null as integer)
                + 32 * cast(continuity is not null as integer)
                + 64 * cast(instruction_following is not null as integer)
            )
        ) as pattern
    from probe_scores
    group by judge_id, session_number, probe_number
),

numbered as (
    select
        *,
        row_number() over (order by judge_id, probe_number) as number
    from presence
),

-- Single numbers for judge × session × pattern and for judge × session, because they are keys of half a million rows.
cells as materialized (
    select
        judge_id,
        probe_number,
        min(number) over (partition by judge_id, session_number, pattern) as cell,
        min(number) over (partition by judge_id, session_number) as cluster
    from numbered
),

clusters as (
    select
        cluster,
        any_value(judge_id) as judge_id
    from cells
    group by cluster
),

cell_sums as materialized (
    select
        cells.cluster,
        cells.cell,
        probe_scores.method_number,
        count(*) as n,
        sum(probe_scores.overall) as overall,
        sum(probe_scores.accuracy) as accuracy,
        sum(probe_scores.context_awareness) as context_awareness,
        sum(probe_scores.artifact_trail) as artifact_trail,
        sum(probe_scores.completeness) as completeness,
        sum(probe_scores.continuity) as continuity,
        sum(probe_scores.instruction_following) as instruction_following
    from probe_scores
    inner join cells on probe_scores.judge_id = cells.judge_id and probe_scores.probe_number = cells.probe_number
    group by cells.cluster, cells.cell, probe_scores.method_number
),

session_sums as (
    select
        a.cluster,
        a.method_number as number_a,
        b.method_number as number_b,
        sum(a.overall - b.overall) as overall,
        sum(a.accuracy - b.accuracy) as accuracy,
        sum(a.context_awareness - b.context_awareness) as context_awareness,
        sum(a.artifact_trail - b.artifact_trail) as artifact_trail,
        sum(a.completeness - b.completeness) as completeness,
        sum(a.continuity - b.continuity) as continuity,
        sum(a.instruction_following - b.instruction_following) as instruction_following,
        sum(a.n) filter (where a.overall + b.overall is not null) as n_overall,
        sum(a.n) filter (where a.accuracy + b.accuracy is not null) as n_accuracy,
        sum(a.n) filter (where a.context_awareness + b.context_awareness is not null) as n_context_awareness,
        sum(a.n) filter (where a.artifact_trail + b.artifact_trail is not null) as n_artifact_trail,
        sum(a.n) filter (where a.completeness + b.completeness is not null) as n_completeness,
        sum(a.n) filter (where a.continuity + b.continuity is not null) as n_continuity,
        sum(a.n) filter (where a.instruction_following + b.instruction_following is not null) as n_instruction_following
    from cell_sums as a
    inner join cell_sums as b on a.cell = b.cell and a.method_number < b.method_number
    group by a.cluster, a.method_number, b.method_number
),

side_by_side as (
    select
        clusters.judge_id,
        s.number_a,
        s.number_b,
        [
            {
                'dimension': 'overall',
                'sums': list(s.overall) filter (s.overall is not null),
                'counts': list(s.n_overall) filter (s.overall is not null)
            },
            {
                'dimension': 'accuracy',
                'sums': list(s.accuracy) filter (s.accuracy is not null),
                'counts': list(s.n_accuracy) filter (s.accuracy is not null)
            },
            {
                'dimension': 'context_awareness',
                'sums': list(s.context_awareness) filter (s.context_awareness is not null),
                'counts': list(s.n_context_awareness) filter (s.context_awareness is not null)
            },
            {
                'dimension': 'artifact_trail',
                'sums': list(s.artifact_trail) filter (s.artifact_trail is not null),
                'counts': list(s.n_artifact_trail) filter (s.artifact_trail is not null)
            },
            {
                'dimension': 'completeness',
                'sums': list(s.completeness) filter (s.completeness is not null),
                'counts': list(s.n_completeness) filter (s.completeness is not null)
            },
            {
                'dimension': 'continuity',
                'sums': list(s.continuity) filter (s.continuity is not null),
                'counts': list(s.n_continuity) filter (s.continuity is not null)
            },
            {
                'dimension': 'instruction_following',
                'sums': list(s.instruction_following) filter (s.instruction_following is not null),
                'counts': list(s.n_instruction_following) filter (s.instruction_following is not null)
            }
        ] as dimensions
    from session_sums as s
    inner join clusters on s.cluster = clusters.cluster
    group by clusters.judge_id, s.number_a, s.number_b
),

below_each_other as (
    select
        judge_id,
        number_a,
        number_b,
        unnest(dimensions) as named
    from side_by_side
),

other_probe_means as materialized (
    select
        judge_id,
        method_id,
        dimension,
        session_id,
        probe_id,
        avg(score) as score
    from int_answer_scores
    where
        dimension <> 'accuracy'
        and dimension <> 'context_awareness'
        and dimension <> 'artifact_trail'
        and dimension <> 'completeness'
        and dimension <> 'continuity'
        and dimension <> 'instruction_following'
        and dimension <> 'overall'
    group by judge_id, method_id, dimension, session_id, probe_id
),

other_session_sums as (
    select
        a.judge_id,
        a.dimension,
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        a.session_id,
        sum(a.score - b.score) as difference_sum,
        count(*) as n_pairs
    from other_probe_means as a
    inner join other_probe_means as b
        on
            a.judge_id = b.judge_id
            and a.dimension = b.dimension
            and a.probe_id = b.probe_id
            and a.method_id < b.method_id
    group by a.judge_id, a.dimension, a.method_id, b.method_id, a.session_id
),

differences as (
    select
        below_each_other.judge_id,
        below_each_other.named.dimension,
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        below_each_other.named.sums,
        below_each_other.named.counts
    from below_each_other
    inner join methods as a on below_each_other.number_a = a.rowid
    inner join methods as b on below_each_other.number_b = b.rowid
    where len(below_each_other.named.sums) > 0
    union all
    select
        judge_id,
        dimension,
        method_id_a,
        method_id_b,
        list(difference_sum) as sums,
        list(n_pairs) as counts
    from other_session_sums
    group by judge_id, dimension, method_id_a, method_id_b
),

figures as (
    select
        judge_id,
        dimension,
        method_id_a,
        method_id_b,
        cluster_figures(sums, counts) as paired
    from differences
)

select
    judge_id,
    dimension,
    method_id_a,
    method_id_b,
    paired.mean as difference,
    paired.std_error,
    paired.df,
    t_test(paired.mean, paired.std_error, paired.df) as p_value,
    paired.n as n_pairs,
    paired.n_clusters as n_sessions
from figures;

comment on column agg_method_pairs.judge_id is 'Judge version';
comment on column agg_method_pairs.dimension is 'Dimension of the rubric, or overall';
comment on column agg_method_pairs.method_id_a is 'Identity of the one method';
comment on column agg_method_pairs.method_id_b is 'Identity of the other';
comment on column agg_method_pairs.difference is 'Mean of a - b over the questions that both have';
comment on column agg_method_pairs.std_error is 'Standard error, clustered by session; NULL with a single session';
comment on column agg_method_pairs.df is 'Degrees of freedom of std_error';
comment on column agg_method_pairs.p_value is 'Two-sided p-value of no difference; NULL with a single session';
comment on column agg_method_pairs.n_pairs is 'Questions that both methods have a score for';
comment on column agg_method_pairs.n_sessions is 'Sessions';
