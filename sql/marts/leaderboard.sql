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
-- tie_group: go down the methods by rank (equal ones by name). The first opens group 1. The next joins the open group
-- unless its paired difference of overall to that group's first method is distinguishable from 0 at 95 % (same probes,
-- clustered by session, Student's t), in which case it opens the next group. With a single session, or without a probe
-- in common, nothing is distinguishable. The level holds for each comparison, not for all of them together. A partial
-- method opens no group, because few questions tell little apart: it joins the group that is open at its place (at the
-- top the first), or has none when it can be told from that group's first method.
create view leaderboard as
with recursive figures as (
    select
        judge_id,
        method_id,
        dimension,
        cluster_mean(score_sum, n_answers) as mean,
        cast(sum(n_answers) as bigint) as n_answers,
        count(*) as n_sessions
    from agg_session_scores
    group by judge_id, method_id, dimension
),

wide as (
    select
        judge_id,
        method_id,
        max(mean) filter (where dimension = 'overall') as overall,
        avg(mean) filter (where dimension <> 'overall') as overall_of_dimensions,
        max(mean) filter (where dimension = 'accuracy') as accuracy,
        max(mean) filter (where dimension = 'context_awareness') as context_awareness,
        max(mean) filter (where dimension = 'artifact_trail') as artifact_trail,
        max(mean) filter (where dimension = 'completeness') as completeness,
        max(mean) filter (where dimension = 'continuity') as continuity,
        max(mean) filter (where dimension = 'instruction_following') as instruction_following,
        max(n_answers) filter (where dimension = 'overall') as n_answers,
        max(n_sessions) filter (where dimension = 'overall') as n_sessions
    from figures
    group by judge_id, method_id
),

judged as (
    select
        judge_id,
        method_id,
        count(*) filter (where not is_scored) as n_unscored,
        cast(sum(n_unscored_criteria) as bigint) as n_unscored_criteria
    from int_judged_answers
    group by judge_id, method_id
),

paired as materialized (
    select
        judge_id,
        method_id_a as method_id,
        method_id_b as other_id,
        difference,
        coalesce(abs(difference) > t_quantile(0.975, n_sessions - 1) * std_error + 1e-9, false) as is_distinguishable
    from agg_method_pairs
    where dimension = 'overall'
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
        stg_methods.method,
        coalesce(agg_compactions.n_not_applicable, 0) > 0
        and bool_or(coalesce(agg_compactions.n_not_applicable, 0) = 0) over (partition by wide.judge_id) as is_partial
    from wide
    inner join stg_methods on wide.method_id = stg_methods.method_id
    left join agg_compactions on wide.method_id = agg_compactions.method_id
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
    judged.judge_id,
    judges.judge,
    stg_methods.method,
    wide.overall,
    wide.overall_of_dimensions,
    wide.accuracy,
    wide.context_awareness,
    wide.artifact_trail,
    wide.completeness,
    wide.continuity,
    wide.instruction_following,
    coalesce(wide.n_answers, 0) as n_answers,
    coalesce(wide.n_sessions, 0) as n_sessions,
    judged.n_unscored,
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,
    placed.rank,
    grouped.tie_group,
    agg_shared_probes.overall_on_shared_probes,
    coalesce(agg_shared_probes.n_shared_probes, 0) as n_shared_probes,
    judged.n_unscored_criteria,
    comparable.overall as overall_for_rank,
    coalesce(comparable.is_partial, false) as is_partial,
    coalesce(agg_compactions.n_points_not_applicable, 0) as n_points_not_applicable,
    judged.method_id
from judged
inner join stg_methods on judged.method_id = stg_methods.method_id
left join judges on judged.judge_id = judges.judge_id
left join wide on judged.judge_id = wide.judge_id and judged.method_id = wide.method_id
left join comparable on judged.judge_id = comparable.judge_id and judged.method_id = comparable.method_id
left join placed on judged.judge_id = placed.judge_id and judged.method_id = placed.method_id
left join grouped on judged.judge_id = grouped.judge_id and judged.method_id = grouped.method_id
left join agg_compactions on judged.method_id = agg_compactions.method_id
left join agg_shared_probes
    on judged.judge_id = agg_shared_probes.judge_id and judged.method_id = agg_shared_probes.method_id
order by judges.judge, judged.judge_id, placed.place nulls last, stg_methods.method;

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
'By overall_for_rank within the judge; equal methods share a rank; NULL where nothing can be compared';
comment on column leaderboard.tie_group is
'Methods that cannot be told apart from the first of their group at 95 % share its number; NULL for none';
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
