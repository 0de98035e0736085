-- One row per judge × method that the judge was given answers of.
--
-- Which questions: each method's figures are means over its own scored answers, so that what failed is left out and
-- counts neither as 0 nor against the other methods. The methods' questions can then differ: n_answers and the check
-- `same_questions_scored` show it, `coverage` says where they were lost, and overall_on_shared_probes is the figure on
-- the questions that every method has a score for.
--
-- The column constraints is on the questions of that type alone, and these are in no other figure of quality: neither
-- in overall and its dimensions nor in n_answers.
--
-- overall and overall_of_dimensions differ because not every probe type asks every dimension: the first weighs each
-- answer alike, the second each dimension.
--
-- Rank, groups and shared probes (`agg_tie_groups`) are over the current methods, those that the newest run of the
-- study asks for. An earlier version of a method, or one that was dropped, has its figures and neither.
create view leaderboard as
with figures as (
    select
        judge_id,
        method_id,
        avg(score) filter (where dimension = 'overall') as overall,
        avg(score) filter (where dimension = 'accuracy') as accuracy,
        avg(score) filter (where dimension = 'context_awareness') as context_awareness,
        avg(score) filter (where dimension = 'artifact_trail') as artifact_trail,
        avg(score) filter (where dimension = 'completeness') as completeness,
        avg(score) filter (where dimension = 'continuity') as continuity,
        avg(score) filter (where dimension = 'instruction_following') as instruction_following,
        avg(score) filter (where dimension = 'constraints') as constraints,
        count(*) filter (where dimension = 'overall') as n_answers,
        count(*) filter (where dimension = 'constraints') as n_constraints,
        count(distinct session_id) filter (where dimension = 'overall') as n_sessions
    from int_answer_scores
    group by judge_id, method_id
),

-- What the judge was given, scored or not.
judged as (
    select
        judge_id,
        method_id,
        count(*) filter (where not is_scored) as n_unscored,
        cast(sum(n_unscored_criteria) as bigint) as n_unscored_criteria
    from int_judged_answers
    group by judge_id, method_id
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
            'constraints', 'overall'
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
    where scores.score is not null and is_in_overall(scores.dimension)
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
        judged.judge_id,
        judged.method_id,
        figures.overall,
        figures.accuracy,
        figures.context_awareness,
        figures.artifact_trail,
        figures.completeness,
        figures.continuity,
        figures.instruction_following,
        figures.constraints,
        coalesce(figures.n_answers, 0) as n_answers,
        coalesce(figures.n_sessions, 0) as n_sessions,
        coalesce(figures.n_constraints, 0) as n_constraints,
        judged.n_unscored,
        judged.n_unscored_criteria,
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
    from judged
    inner join stg_methods on judged.method_id = stg_methods.method_id
    left join figures on judged.judge_id = figures.judge_id and judged.method_id = figures.method_id
    left join others on judged.judge_id = others.judge_id and judged.method_id = others.method_id
)

select
    wide.judge_id,
    judges.judge,
    wide.method,
    wide.overall,  -- Mean over answers of the per-answer overall, 0 to 5
    wide.overall_of_dimensions,  -- Unweighted mean of the dimension means, 0 to 5
    wide.accuracy,  -- Mean over the answers that have the dimension, 0 to 5
    wide.context_awareness,  -- Mean over the answers that have the dimension, 0 to 5
    wide.artifact_trail,  -- Mean over the answers that have the dimension, 0 to 5
    wide.completeness,  -- Mean over the answers that have the dimension, 0 to 5
    wide.continuity,  -- Mean over the answers that have the dimension, 0 to 5
    wide.instruction_following,  -- Mean over the answers that have the dimension, 0 to 5
    wide.n_answers,  -- Answers with an overall
    wide.n_sessions,  -- Sessions that these answers are of
    wide.n_unscored,  -- Answers that the judge was given and has no score for
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,  -- Share of tokens
    -- (0 to 1) that the method removed over its done compactions; below 0 when contexts grew
    standing.rank,  -- By overall_for_rank within the judge's current methods; equal ones share a rank; NULL where
    -- nothing can be compared
    standing.tie_group,  -- Methods not told apart from the first of their group (5 %, Holm over the judge's pairs)
    -- share its number; or NULL
    standing.overall_on_shared_probes,
    coalesce(standing.n_shared_probes, 0) as n_shared_probes,
    wide.n_unscored_criteria,  -- Single criteria without a score, those of n_unscored included
    standing.overall_for_rank,  -- Overall; of a method that is not applicable everywhere what its paired differences to
    -- the others come to, 0 to 5
    coalesce(standing.is_partial, false) as is_partial,  -- Whether the method is not applicable at some points, so that
    -- its figures are over fewer questions than the rest
    coalesce(agg_compactions.n_points_not_applicable, 0) as n_points_not_applicable,  -- Points at which the method is
    -- not applicable: no failures
    wide.method_id,
    wide.is_current,  -- Whether the newest run of the study asks for the method; an earlier version or a dropped method
    -- has no rank
    wide.n_answers - coalesce(copies.n, 0) as n_independent_answers,  -- n_answers, each answer once: repetitions of the
    -- method with equal contexts share theirs
    wide.constraints,  -- Mean over the answers on constraints that hold at their point, 0 to 5; NULL where none was
    -- asked for; not in overall
    wide.n_constraints  -- Answers that constraints is over; not in n_answers
from wide
left join judges on wide.judge_id = judges.judge_id
left join agg_tie_groups as standing on wide.judge_id = standing.judge_id and wide.method_id = standing.method_id
left join copies on wide.judge_id = copies.judge_id and wide.method_id = copies.method_id
left join agg_compactions on wide.method_id = agg_compactions.method_id
order by judges.judge, wide.judge_id, standing.place nulls last, wide.method;
