-- One row per judge × dimension (and 'overall') × pair of methods with questions in common; each pair stands once, in
-- either order.
--
-- The difference a - b is paired on the probe: both methods' means over their replicates, for the probes that both
-- have a score for. So a compaction that failed under one method changes no comparison but by taking its probes out of
-- it. The standard error is clustered by session (the sums of `cluster_sums`); NULL with a single session.
--
-- Methods are not joined probe by probe, which would take most of the time. Within a session the sum of differences is
-- the difference of the methods' sums, where both have all of the session's probes. Where one of them lacks a probe (a
-- gap), what the other has there alone is taken out again. The study's dimensions go side by side. Other dimensions,
-- which most stores do not have, come the long way.
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

session_scores as materialized (
    select
        judge_id,
        session_number,
        method_number,
        sum(overall) as overall,
        sum(accuracy) as accuracy,
        sum(context_awareness) as context_awareness,
        sum(artifact_trail) as artifact_trail,
        sum(completeness) as completeness,
        sum(continuity) as continuity,
        sum(instruction_following) as instruction_following,
        count(overall) as n_overall,
        count(accuracy) as n_accuracy,
        count(context_awareness) as n_context_awareness,
        count(artifact_trail) as n_artifact_trail,
        count(completeness) as n_completeness,
        count(continuity) as n_continuity,
        count(instruction_following) as n_instruction_following
    from probe_scores
    group by judge_id, session_number, method_number
),

-- How many methods have the dimension: somewhere in the session, and on the probe.
in_session as (
    select
        judge_id,
        session_number,
        count(overall) as overall,
        count(accuracy) as accuracy,
        count(context_awareness) as context_awareness,
        count(artifact_trail) as artifact_trail,
        count(completeness) as completeness,
        count(continuity) as continuity,
        count(instruction_following) as instruction_following
    from session_scores
    group by judge_id, session_number
),

on_probe as (
    select
        judge_id,
        session_number,
        probe_number,
        count(overall) as overall,
        count(accuracy) as accuracy,
        count(context_awareness) as context_awareness,
        count(artifact_trail) as artifact_trail,
        count(completeness) as completeness,
        count(continuity) as continuity,
        count(instruction_following) as instruction_following
    from probe_scores
    group by judge_id, session_number, probe_number
),

incomplete as materialized (
    select on_probe.*
    from on_probe
    inner join in_session
        on on_probe.judge_id = in_session.judge_id and on_probe.session_number = in_session.session_number
    where
        on_probe.overall not in (0, in_session.overall)
        or on_probe.accuracy not in (0, in_session.accuracy)
        or on_probe.context_awareness not in (0, in_session.context_awareness)
        or on_probe.artifact_trail not in (0, in_session.artifact_trail)
        or on_probe.completeness not in (0, in_session.completeness)
        or on_probe.continuity not in (0, in_session.continuity)
        or on_probe.instruction_following not in (0, in_session.instruction_following)
),

incomplete_scores as materialized (
    select probe_scores.*
    from probe_scores
    inner join incomplete
        on probe_scores.judge_id = incomplete.judge_id and probe_scores.probe_number = incomplete.probe_number
),

-- One row per incomplete probe × method of the session that lacks a dimension there which other methods have. Few:
-- made before they meet the other methods.
gaps as materialized (
    select
        incomplete.judge_id,
        incomplete.session_number,
        incomplete.probe_number,
        session_scores.method_number,
        incomplete.overall > 0 and own.overall is null as overall,
        incomplete.accuracy > 0 and own.accuracy is null as accuracy,
        incomplete.context_awareness > 0 and own.context_awareness is null as context_awareness,
        incomplete.artifact_trail > 0 and own.artifact_trail is null as artifact_trail,
        incomplete.completeness > 0 and own.completeness is null as completeness,
        incomplete.continuity > 0 and own.continuity is null as continuity,
        incomplete.instruction_following > 0 and own.instruction_following is null as instruction_following
    from incomplete
    inner join session_scores
        on
            incomplete.judge_id = session_scores.judge_id
            and incomplete.session_number = session_scores.session_number
    left join incomplete_scores as own
        on
            session_scores.judge_id = own.judge_id
            and incomplete.probe_number = own.probe_number
            and session_scores.method_number = own.method_number
    where
        (incomplete.overall > 0 and own.overall is null)
        or (incomplete.accuracy > 0 and own.accuracy is null)
        or (incomplete.context_awareness > 0 and own.context_awareness is null)
        or (incomplete.artifact_trail > 0 and own.artifact_trail is null)
        or (incomplete.completeness > 0 and own.completeness is null)
        or (incomplete.continuity > 0 and own.continuity is null)
        or (incomplete.instruction_following > 0 and own.instruction_following is null)
),

-- What one method of a pair has where the other has a gap, with the sign that it has in a - b.
alone as (
    select
        s.judge_id,
        s.session_number,
        least(s.method_number, g.method_number) as number_a,
        greatest(s.method_number, g.method_number) as number_b,
        sum(s.overall * sign(g.method_number - s.method_number)) filter (where g.overall) as overall,
        sum(s.accuracy * sign(g.method_number - s.method_number)) filter (where g.accuracy) as accuracy,
        sum(s.context_awareness * sign(g.method_number - s.method_number)) filter (where g.context_awareness)
            as context_awareness,
        sum(s.artifact_trail * sign(g.method_number - s.method_number)) filter (where g.artifact_trail)
            as artifact_trail,
        sum(s.completeness * sign(g.method_number - s.method_number)) filter (where g.completeness) as completeness,
        sum(s.continuity * sign(g.method_number - s.method_number)) filter (where g.continuity) as continuity,
        sum(s.instruction_following * sign(g.method_number - s.method_number)) filter (where g.instruction_following)
            as instruction_following,
        count(s.overall) filter (where g.overall and s.method_number < g.method_number) as n_overall,
        count(s.accuracy) filter (where g.accuracy and s.method_number < g.method_number) as n_accuracy,
        count(s.context_awareness) filter (where g.context_awareness and s.method_number < g.method_number)
            as n_context_awareness,
        count(s.artifact_trail) filter (where g.artifact_trail and s.method_number < g.method_number)
            as n_artifact_trail,
        count(s.completeness) filter (where g.completeness and s.method_number < g.method_number) as n_completeness,
        count(s.continuity) filter (where g.continuity and s.method_number < g.method_number) as n_continuity,
        count(s.instruction_following) filter (where g.instruction_following and s.method_number < g.method_number)
            as n_instruction_following
    from gaps as g
    inner join incomplete_scores as s
        on
            g.judge_id = s.judge_id
            and g.probe_number = s.probe_number
            and g.method_number <> s.method_number
    group by
        s.judge_id, s.session_number, least(s.method_number, g.method_number),
        greatest(s.method_number, g.method_number)
),

-- Sums of the differences and numbers of the probes that both have; the number is NULL where there are none.
session_pairs as materialized (
    select
        a.judge_id,
        a.method_number as number_a,
        b.method_number as number_b,
        a.overall - b.overall - coalesce(alone.overall, 0) as overall,
        a.accuracy - b.accuracy - coalesce(alone.accuracy, 0) as accuracy,
        a.context_awareness - b.context_awareness - coalesce(alone.context_awareness, 0) as context_awareness,
        a.artifact_trail - b.artifact_trail - coalesce(alone.artifact_trail, 0) as artifact_trail,
        a.completeness - b.completeness - coalesce(alone.completeness, 0) as completeness,
        a.continuity - b.continuity - coalesce(alone.continuity, 0) as continuity,
        a.instruction_following - b.instruction_following - coalesce(alone.instruction_following, 0)
            as instruction_following,
        case when b.overall is not null then nullif(a.n_overall - coalesce(alone.n_overall, 0), 0) end
            as n_overall,
        case when b.accuracy is not null then nullif(a.n_accuracy - coalesce(alone.n_accuracy, 0), 0) end
            as n_accuracy,
        case
            when b.context_awareness is not null
                then nullif(a.n_context_awareness - coalesce(alone.n_context_awareness, 0), 0)
        end as n_context_awareness,
        case
            when b.artifact_trail is not null
                then nullif(a.n_artifact_trail - coalesce(alone.n_artifact_trail, 0), 0)
        end as n_artifact_trail,
        case when b.completeness is not null then nullif(a.n_completeness - coalesce(alone.n_completeness, 0), 0) end
            as n_completeness,
        case when b.continuity is not null then nullif(a.n_continuity - coalesce(alone.n_continuity, 0), 0) end
            as n_continuity,
        case
            when b.instruction_following is not null
                then nullif(a.n_instruction_following - coalesce(alone.n_instruction_following, 0), 0)
        end as n_instruction_following
    from session_scores as a
    inner join session_scores as b
        on
            a.judge_id = b.judge_id
            and a.session_number = b.session_number
            and a.method_number < b.method_number
    left join alone
        on
            a.judge_id = alone.judge_id
            and a.session_number = alone.session_number
            and a.method_number = alone.number_a
            and b.method_number = alone.number_b
),

wholes as (
    select
        judge_id,
        number_a,
        number_b,
        sum(overall) filter (n_overall > 0) as overall,
        sum(accuracy) filter (n_accuracy > 0) as accuracy,
        sum(context_awareness) filter (n_context_awareness > 0) as context_awareness,
        sum(artifact_trail) filter (n_artifact_trail > 0) as artifact_trail,
        sum(completeness) filter (n_completeness > 0) as completeness,
        sum(continuity) filter (n_continuity > 0) as continuity,
        sum(instruction_following) filter (n_instruction_following > 0) as instruction_following,
        sum(n_overall) as n_overall,
        sum(n_accuracy) as n_accuracy,
        sum(n_context_awareness) as n_context_awareness,
        sum(n_artifact_trail) as n_artifact_trail,
        sum(n_completeness) as n_completeness,
        sum(n_continuity) as n_continuity,
        sum(n_instruction_following) as n_instruction_following
    from session_pairs
    group by judge_id, number_a, number_b
),

side_by_side as (
    select
        s.judge_id,
        s.number_a,
        s.number_b,
        cluster_sums(s.overall, s.n_overall, w.overall, w.n_overall) as overall,
        cluster_sums(s.accuracy, s.n_accuracy, w.accuracy, w.n_accuracy) as accuracy,
        cluster_sums(s.context_awareness, s.n_context_awareness, w.context_awareness, w.n_context_awareness)
            as context_awareness,
        cluster_sums(s.artifact_trail, s.n_artifact_trail, w.artifact_trail, w.n_artifact_trail) as artifact_trail,
        cluster_sums(s.completeness, s.n_completeness, w.completeness, w.n_completeness) as completeness,
        cluster_sums(s.continuity, s.n_continuity, w.continuity, w.n_continuity) as continuity,
        cluster_sums(
            s.instruction_following, s.n_instruction_following, w.instruction_following, w.n_instruction_following
        ) as instruction_following
    from session_pairs as s
    inner join wholes as w on s.judge_id = w.judge_id and s.number_a = w.number_a and s.number_b = w.number_b
    group by s.judge_id, s.number_a, s.number_b
),

below_each_other as (
    select
        side_by_side.judge_id,
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        unnest([
            { 'dimension': 'overall', 'sums': side_by_side.overall },
            { 'dimension': 'accuracy', 'sums': side_by_side.accuracy },
            { 'dimension': 'context_awareness', 'sums': side_by_side.context_awareness },
            { 'dimension': 'artifact_trail', 'sums': side_by_side.artifact_trail },
            { 'dimension': 'completeness', 'sums': side_by_side.completeness },
            { 'dimension': 'continuity', 'sums': side_by_side.continuity },
            { 'dimension': 'instruction_following', 'sums': side_by_side.instruction_following }
        ]) as named
    from side_by_side
    inner join methods as a on side_by_side.number_a = a.rowid
    inner join methods as b on side_by_side.number_b = b.rowid
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

figures as (
    select
        judge_id,
        named.dimension,
        method_id_a,
        method_id_b,
        figures_of_sums(named.sums) as paired
    from below_each_other
    where named.sums.n_clusters > 0
    union all
    select
        judge_id,
        dimension,
        method_id_a,
        method_id_b,
        cluster_figures(list(difference_sum), list(n_pairs)) as paired
    from other_session_sums
    group by judge_id, dimension, method_id_a, method_id_b
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
