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
-- Rank and groups (`agg_tie_groups`) and shared probes (`agg_shared_probes`) are over the current methods, those that
-- the newest run of the study asks for. An earlier version of a method, or one that was dropped, has its figures and
-- neither. The controls have no rank and no group.
create view leaderboard as
with means as (
    select
        judge_id,
        method_id,
        dimension,
        avg(score) as mean,
        count(*) as n_answers,
        count(distinct session_id) as n_sessions
    from int_answer_scores
    group by judge_id, method_id, dimension
),

figures as (
    select
        judge_id,
        method_id,
        any_value(mean) filter (where dimension = 'overall') as overall,
        avg(mean) filter (where dimension <> 'overall' and is_in_overall(dimension)) as overall_of_dimensions,
        any_value(mean) filter (where dimension = 'accuracy') as accuracy,
        any_value(mean) filter (where dimension = 'context_awareness') as context_awareness,
        any_value(mean) filter (where dimension = 'artifact_trail') as artifact_trail,
        any_value(mean) filter (where dimension = 'completeness') as completeness,
        any_value(mean) filter (where dimension = 'continuity') as continuity,
        any_value(mean) filter (where dimension = 'instruction_following') as instruction_following,
        any_value(mean) filter (where dimension = 'constraints') as constraints,
        any_value(n_answers) filter (where dimension = 'overall') as n_answers,
        any_value(n_sessions) filter (where dimension = 'overall') as n_sessions,
        any_value(n_answers) filter (where dimension = 'constraints') as n_constraints
    from means
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
)

select
    judged.judge_id,
    judges.judge,
    stg_methods.method,
    figures.overall,  -- Mean over answers of the per-answer overall, 0 to 5
    figures.overall_of_dimensions,  -- Unweighted mean of the dimension means, 0 to 5
    figures.accuracy,  -- Mean over the answers that have the dimension, 0 to 5
    figures.context_awareness,  -- Mean over the answers that have the dimension, 0 to 5
    figures.artifact_trail,  -- Mean over the answers that have the dimension, 0 to 5
    figures.completeness,  -- Mean over the answers that have the dimension, 0 to 5
    figures.continuity,  -- Mean over the answers that have the dimension, 0 to 5
    figures.instruction_following,  -- Mean over the answers that have the dimension, 0 to 5
    coalesce(figures.n_answers, 0) as n_answers,  -- Answers with an overall
    coalesce(figures.n_sessions, 0) as n_sessions,  -- Sessions that these answers are of
    judged.n_unscored,  -- Answers that the judge was given and has no score for
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,  -- Share of tokens
    -- (0 to 1) that the method removed over its done compactions; below 0 when contexts grew
    standing.rank,  -- By overall_for_rank within the judge's current methods; equal ones share a rank; NULL for the
    -- controls, with one session, and where nothing can be compared
    standing.tie_group,  -- Letters (b-e: b, c, d and e): methods with one in common are not told apart (5 %, Holm over
    -- the judge's pairs); NULL without a rank
    shared.overall_on_shared_probes,
    coalesce(shared.n_shared_probes, 0) as n_shared_probes,
    judged.n_unscored_criteria,  -- Single criteria without a score, those of n_unscored included
    standing.overall_for_rank,  -- Overall; of a method that is not applicable everywhere what its paired differences to
    -- the others come to, 0 to 5
    coalesce(standing.is_partial, false) as is_partial,  -- Whether the method is not applicable at some points, so that
    -- its figures are over fewer questions than the rest
    coalesce(agg_compactions.n_points_not_applicable, 0) as n_points_not_applicable,  -- Points at which the method is
    -- not applicable: no failures
    judged.method_id,
    stg_methods.is_current,  -- Whether the newest run of the study asks for the method; an earlier version or a dropped
    -- method has no rank
    coalesce(figures.n_answers, 0) - coalesce(copies.n, 0) as n_independent_answers,  -- n_answers, each answer once:
    -- repetitions of the method with equal contexts share theirs
    figures.constraints,  -- Mean over the answers on constraints that hold at their point, 0 to 5; NULL where none was
    -- asked for; not in overall
    coalesce(figures.n_constraints, 0) as n_constraints,  -- Answers that constraints is over; not in n_answers
    standing.place  -- Line on the leaderboard: by rank, equal ones by name, the controls last; NULL for earlier
    -- versions
from judged
inner join stg_methods on judged.method_id = stg_methods.method_id
left join judges on judged.judge_id = judges.judge_id
left join figures on judged.judge_id = figures.judge_id and judged.method_id = figures.method_id
left join agg_tie_groups as standing on judged.judge_id = standing.judge_id and judged.method_id = standing.method_id
left join agg_shared_probes as shared on judged.judge_id = shared.judge_id and judged.method_id = shared.method_id
left join copies on judged.judge_id = copies.judge_id and judged.method_id = copies.method_id
left join agg_compactions on judged.method_id = agg_compactions.method_id
order by judges.judge, judged.judge_id, standing.place nulls last, stg_methods.method;
