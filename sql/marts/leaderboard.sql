-- One row per judge × method that the judge was given answers of.
--
-- Which questions: each method's figures are means over its own scored answers, so that what failed is left out and
-- counts neither as 0 nor against the other methods. The methods' questions can then differ: n_answers and the check
-- `same_questions_scored` show it, `coverage` says where they were lost, and overall_on_shared_probes is the figure on
-- the questions that every method has a score for.
--
-- overall and overall_of_dimensions differ because not every probe type asks every dimension: the first weighs each
-- answer alike, the second each dimension.
--
-- A method that is not applicable at some points (`recorded`, where the agent had not compacted yet) has its figures
-- over other questions than the rest by nature. Such a partial method is ranked by overall_for_rank: the mean, over the
-- methods that apply everywhere, of their overall plus its paired difference to them (same probes). It has no rank when
-- it shares no probe with any of them. Where no method applies everywhere, all are ranked by overall.
--
-- Rank, groups and shared probes are over the current methods, those that the newest run of the study asks for. An
-- earlier version of a method, or one that was dropped, has its figures and neither.
--
-- tie_group: go down the methods by rank (equal ones by name). The first opens group 1. The next joins the open group
-- unless its paired difference of overall to that group's first method is distinguishable from 0 (same probes,
-- clustered by session, Student's t), in which case it opens the next group. Distinguishable is a p-value below 0.05
-- after Holm's correction over all pairs of the judge's methods (p_adjusted_in_dimension of `paired_differences`,
-- dimension overall): among methods that are all equally good, at most 5 % of leaderboards show more than one group.
-- With a single session, or without a probe in common, nothing is distinguishable. A partial method opens no group,
-- because few questions tell little apart: it joins the group that is open at its place (at the top the first), or has
-- none when it can be told from that group's first method.
create view leaderboard as
with recursive probe_scores as materialized (
    select * from int_probe_dimensions
),

-- What methods are compared on.
current_scores as (
    select probe_scores.*
    from probe_scores
    inner join methods on probe_scores.method_number = methods.rowid
    where methods.is_current and probe_scores.n_overall > 0
),

figures as (
    select
        judge_id,
        method_number,
        sum(overall) / sum(n_overall) as overall,
        sum(accuracy) / sum(n_accuracy) as accuracy,
        sum(context_awareness) / sum(n_context_awareness) as context_awareness,
        sum(artifact_trail) / sum(n_artifact_trail) as artifact_trail,
        sum(completeness) / sum(n_completeness) as completeness,
        sum(continuity) / sum(n_continuity) as continuity,
        sum(instruction_following) / sum(n_instruction_following) as instruction_following,
        cast(sum(n_overall) as bigint) as n_answers,
        count(distinct session_number) filter (where n_overall > 0) as n_sessions,
        cast(sum(n_unscored) as bigint) as n_unscored,
        cast(sum(n_unscored_criteria) as bigint) as n_unscored_criteria
    from probe_scores
    group by judge_id, method_number
),

other_dimensions as (
    select
        judge_id,
        method_id,
        dimension,
        avg(score) as mean
    from int_answer_scores
    where
        dimension not in (
            'accuracy', 'context_awareness', 'artifact_trail', 'completeness', 'continuity', 'instruction_following',
            'overall'
        )
    group by judge_id, method_id, dimension
),

-- Repetitions of a method that left an equal context have one answer between them. Where no method was repeated there
-- are none, and no score is looked at.
shared_answers as (
    select
        stg_answers.answer_id,
        stg_answers.method_id,
        stg_answers.context_id,
        stg_answers.probe_id,
        stg_answers.answer_replicate
    from stg_answers
    where
        stg_answers.status = 'done'
        and stg_answers.context_id in (
            select compactions.same_context_as
            from compactions
            where compactions.same_context_as is not null
        )
),

shared_scored as (
    select distinct
        scores.judge_id,
        shared_answers.*
    from scores
    inner join shared_answers on scores.answer_id = shared_answers.answer_id
    where scores.score is not null
),

copies as (
    select
        judge_id,
        method_id,
        count(*) - count(distinct struct_pack(c := context_id, p := probe_id, r := answer_replicate)) as n
    from shared_scored
    group by judge_id, method_id
),

others as (
    select
        judge_id,
        method_id,
        list(mean) as means
    from other_dimensions
    group by judge_id, method_id
),

wide as (
    select
        figures.*,
        stg_methods.method_id,
        stg_methods.method,
        stg_methods.is_current,
        list_avg(
            list_concat(
                [
                    figures.accuracy,
                    figures.context_awareness,
                    figures.artifact_trail,
                    figures.completeness,
                    figures.continuity,
                    figures.instruction_following
                ],
                others.means
            )
        ) as overall_of_dimensions
    from figures
    inner join methods on figures.method_number = methods.rowid
    inner join stg_methods on methods.method_id = stg_methods.method_id
    left join others on figures.judge_id = others.judge_id and stg_methods.method_id = others.method_id
),

presence as (
    select
        judge_id,
        session_number,
        probe_number,
        list_sort(list(method_number)) as pattern
    from current_scores
    group by judge_id, session_number, probe_number
),

-- Probes of a session that have scores for the same methods; their sums do for all comparisons.
cells as (
    select
        judge_id,
        probe_number,
        len(pattern) as n_methods,
        min(probe_number) over (partition by judge_id, session_number, pattern) as cell
    from presence
),

cell_sums as materialized (
    select
        current_scores.judge_id,
        current_scores.session_number,
        current_scores.method_number,
        cells.cell,
        any_value(cells.n_methods) as n_methods,
        count(*) as n,
        sum(current_scores.overall / current_scores.n_overall) as overall
    from current_scores
    inner join cells on current_scores.judge_id = cells.judge_id and current_scores.probe_number = cells.probe_number
    group by current_scores.judge_id, current_scores.session_number, current_scores.method_number, cells.cell
),

scored_methods as (
    select
        judge_id,
        count(distinct method_number) as n
    from current_scores
    group by judge_id
),

on_shared_probes as (
    select
        cell_sums.judge_id,
        cell_sums.method_number,
        sum(cell_sums.overall) / sum(cell_sums.n) as overall_on_shared_probes,
        cast(sum(cell_sums.n) as bigint) as n_shared_probes
    from cell_sums
    inner join scored_methods on cell_sums.judge_id = scored_methods.judge_id
    where cell_sums.n_methods = scored_methods.n
    group by cell_sums.judge_id, cell_sums.method_number
),

session_sums as (
    select
        a.judge_id,
        a.method_number as number_a,
        b.method_number as number_b,
        sum(a.overall - b.overall) as difference_sum,
        sum(a.n) as n_pairs
    from cell_sums as a
    inner join cell_sums as b on a.judge_id = b.judge_id and a.cell = b.cell and a.method_number < b.method_number
    group by a.judge_id, a.method_number, b.method_number, a.session_number
),

overall_figures as (
    select
        judge_id,
        number_a,
        number_b,
        cluster_figures(list(difference_sum), list(n_pairs)) as paired
    from session_sums
    group by judge_id, number_a, number_b
),

tested as (
    select
        judge_id,
        number_a,
        number_b,
        paired.mean as difference,
        t_test(paired.mean, paired.std_error, paired.df) as p_value
    from overall_figures
),

overall_pairs as (
    select
        tested.judge_id,
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        tested.difference,
        tested.p_value,
        tested.p_value * (
            count(tested.p_value) over (partition by tested.judge_id) + 1
            - row_number() over (partition by tested.judge_id order by tested.p_value asc nulls last)
        ) as p_times_left
    from tested
    inner join methods as a on tested.number_a = a.rowid
    inner join methods as b on tested.number_b = b.rowid
),

paired as materialized (
    select
        judge_id,
        method_id_a as method_id,
        method_id_b as other_id,
        difference,
        p_value is not null and 0.05 > max(p_times_left) over (
            partition by judge_id order by p_value asc nulls last range unbounded preceding
        ) as is_distinguishable
    from overall_pairs
),

both_ways as (
    select * from paired
    union all
    select
        judge_id,
        other_id as method_id,
        method_id as other_id,
        -difference as difference,
        is_distinguishable
    from paired
),

kinds as (
    select
        wide.judge_id,
        wide.method_id,
        wide.overall,
        wide.method,
        coalesce(agg_compactions.n_not_applicable, 0) > 0
        and bool_or(coalesce(agg_compactions.n_not_applicable, 0) = 0) over (partition by wide.judge_id) as is_partial
    from wide
    left join agg_compactions on wide.method_id = agg_compactions.method_id
    where wide.n_answers > 0 and wide.is_current
),

by_difference as (
    select
        both_ways.judge_id,
        both_ways.method_id,
        avg(kinds.overall + both_ways.difference) as overall
    from both_ways
    inner join kinds on both_ways.judge_id = kinds.judge_id and both_ways.other_id = kinds.method_id
    where not kinds.is_partial
    group by both_ways.judge_id, both_ways.method_id
),

-- Rounded, so that the order of summation never decides between methods that are equal.
comparable as materialized (
    select
        kinds.judge_id,
        kinds.method_id,
        kinds.method,
        kinds.is_partial,
        round(case when kinds.is_partial then by_difference.overall else kinds.overall end, 9) as overall
    from kinds
    left join by_difference on kinds.judge_id = by_difference.judge_id and kinds.method_id = by_difference.method_id
),

placed as materialized (
    select
        judge_id,
        method_id,
        is_partial,
        overall,
        rank() over (partition by judge_id order by overall desc) as rank,
        row_number() over (partition by judge_id order by overall desc, method asc, method_id asc) as place,
        row_number() over (
            partition by judge_id, is_partial order by overall desc, method asc, method_id asc
        ) as step
    from comparable
    where overall is not null
),

walk as (
    select
        judge_id,
        step,
        method_id,
        method_id as first_id,
        1 as tie_group
    from placed
    where step = 1 and not is_partial
    union all
    select
        walk.judge_id,
        placed.step,
        placed.method_id,
        case when coalesce(both_ways.is_distinguishable, false) then placed.method_id else walk.first_id end
            as first_id,
        walk.tie_group + cast(coalesce(both_ways.is_distinguishable, false) as integer) as tie_group
    from walk
    inner join placed
        on walk.judge_id = placed.judge_id and walk.step + 1 = placed.step and not placed.is_partial
    left join both_ways
        on
            walk.judge_id = both_ways.judge_id
            and walk.first_id = both_ways.method_id
            and placed.method_id = both_ways.other_id
),

open_at_place as (
    select
        partial.judge_id,
        partial.method_id,
        greatest(1, max(placed.step) filter (where placed.place < partial.place)) as step
    from placed as partial
    inner join placed on partial.judge_id = placed.judge_id and not placed.is_partial
    where partial.is_partial
    group by partial.judge_id, partial.method_id
),

grouped as (
    select
        judge_id,
        method_id,
        tie_group
    from walk
    union all
    select
        open_at_place.judge_id,
        open_at_place.method_id,
        walk.tie_group
    from open_at_place
    inner join walk on open_at_place.judge_id = walk.judge_id and open_at_place.step = walk.step
    left join both_ways
        on
            walk.judge_id = both_ways.judge_id
            and walk.first_id = both_ways.method_id
            and open_at_place.method_id = both_ways.other_id
    where not coalesce(both_ways.is_distinguishable, false)
)

select
    wide.judge_id,
    judges.judge,
    wide.method,
    wide.overall,
    wide.overall_of_dimensions,
    wide.accuracy,
    wide.context_awareness,
    wide.artifact_trail,
    wide.completeness,
    wide.continuity,
    wide.instruction_following,
    wide.n_answers,
    wide.n_sessions,
    wide.n_unscored,
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,
    placed.rank,
    grouped.tie_group,
    on_shared_probes.overall_on_shared_probes,
    coalesce(on_shared_probes.n_shared_probes, 0) as n_shared_probes,
    wide.n_unscored_criteria,
    comparable.overall as overall_for_rank,
    coalesce(comparable.is_partial, false) as is_partial,
    coalesce(agg_compactions.n_points_not_applicable, 0) as n_points_not_applicable,
    wide.method_id,
    wide.is_current,
    wide.n_answers - coalesce(copies.n, 0) as n_independent_answers
from wide
left join judges on wide.judge_id = judges.judge_id
left join comparable on wide.judge_id = comparable.judge_id and wide.method_id = comparable.method_id
left join copies on wide.judge_id = copies.judge_id and wide.method_id = copies.method_id
left join placed on wide.judge_id = placed.judge_id and wide.method_id = placed.method_id
left join grouped on wide.judge_id = grouped.judge_id and wide.method_id = grouped.method_id
left join agg_compactions on wide.method_id = agg_compactions.method_id
left join on_shared_probes
    on wide.judge_id = on_shared_probes.judge_id and wide.method_number = on_shared_probes.method_number
order by judges.judge, wide.judge_id, placed.place nulls last, wide.method;

comment on column leaderboard.judge_id is 'Judge version';
comment on column leaderboard.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard.method is 'Name of the method';
comment on column leaderboard.overall is 'Mean over answers of the per-answer overall, 0 to 5';
comment on column leaderboard.overall_of_dimensions is 'Unweighted mean of the dimension means, 0 to 5';
comment on column leaderboard.accuracy is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.context_awareness is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.artifact_trail is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.completeness is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.continuity is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.instruction_following is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.n_answers is 'Answers with at least one score';
comment on column leaderboard.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard.n_unscored is 'Answers that the judge was given and has no score for';
comment on column leaderboard.tokens_removed is
'Share of tokens (0 to 1) that the method removed over its done compactions; below 0 when contexts grew';
comment on column leaderboard.rank is
'By overall_for_rank within the judge''s current methods; equal ones share a rank; NULL where nothing can be compared';
comment on column leaderboard.tie_group is
'Methods not told apart from the first of their group (5 %, Holm over the judge''s pairs) share its number; or NULL';
comment on column leaderboard.overall_on_shared_probes is
'Mean over the probes that every method of the judge has a score for, 0 to 5';
comment on column leaderboard.n_shared_probes is 'Probes that every method of the judge has a score for';
comment on column leaderboard.n_unscored_criteria is 'Single criteria without a score, those of n_unscored included';
comment on column leaderboard.overall_for_rank is
'Overall; of a method that is not applicable everywhere what its paired differences to the others come to, 0 to 5';
comment on column leaderboard.is_partial is
'Whether the method is not applicable at some points, so that its figures are over fewer questions than the rest';
comment on column leaderboard.n_points_not_applicable is 'Points at which the method is not applicable: no failures';
comment on column leaderboard.method_id is 'Identity of the method';
comment on column leaderboard.is_current is
'Whether the newest run of the study asks for the method; an earlier version or a dropped method has no rank';
comment on column leaderboard.n_independent_answers is
'n_answers, each answer once: repetitions of the method with equal contexts share theirs';
