-- One row per judge × dimension (and 'overall') × method, and one with method_id NULL of all methods: components of the
-- variance of scores, and the sizes they come from. Of current methods only.
--
-- The model of a score: its method's mean (fixed), and, each with a variance of its own,
--   session              s      shared by all methods: sessions are easy or hard
--   method × session     ms     what a method makes of a session
--   question             p(s)   a probe within its session, shared by all methods
--   method × question    mp(s)  what a method makes of a question: the cell that replicates lie in
--   compaction           k      repetition of the compaction, within the cell; part of it is shared by the questions
--                               that are asked of the same compaction
--   answer               a      repetition of the answer, within the compaction
--   judge                j      repetition of the verdict, within the answer
-- Estimators are those of the analysis of variance for unbalanced nested data (Henderson 1953, method I; Searle,
-- Casella and McCulloch 1992, chapter 5): sums of squares level by level, set equal to their expectations with the
-- coefficients of the actual numbers. Within cells method, session and question are constant, so the three lower
-- components need no correction. Above, cell means are compared within methods, once as they are, once after the mean
-- of all methods on the question is taken off (scaled for what that takes away): the first has all four components, the
-- second the two with the method in them. That part is exact when every method has every question, else close.
--
-- The compactions of a cell are its distinct contexts (int_context_scores): answers to equal ones are copies. A cell
-- whose repeated compactions left one context has no compaction variance: none is in its mean, and it says nothing of
-- the variance where contexts differ, which is what raw_compaction is.
--
-- A level that is not repeated (no degrees of freedom) is NULL, and its variance is in the level above. Raw estimates
-- can be below 0. Without a second method, and in the rows of single methods, ms and mp are NULL and lie in s and p.
create view agg_variance as
with of_compactions as materialized (
    select * from int_context_scores
),

cells as materialized (
    select
        judge_id,
        dimension,
        method_id,
        session_id,
        point_id,
        probe_id,
        any_value(varies) as varies,
        sum(n) as n,
        sum(n_answers) as n_answers,
        sum(n_answers_made) as n_answers_made,
        sum(n_verdicts_made) as n_verdicts_made,
        sum(n_compactions_made) as n_compactions_made,
        count(*) as n_compactions,
        sum(n * mean) / sum(n) as mean,
        sum(ss_judge) as ss_judge,
        sum(ss_answer) as ss_answer,
        sum(n * mean ** 2) - sum(n * mean) ** 2 / sum(n) as ss_compaction,
        sum(n_square_answers / n) as answers_in_compactions,
        sum(n_square_answers) / sum(n) as answers_in_cell,
        sum(n ** 2) / sum(n) as compactions_in_cell,
        sum(mean ** 2) - sum(mean) ** 2 / count(*) as ss_compaction_means
    from of_compactions
    group by judge_id, dimension, method_id, session_id, point_id, probe_id
),

-- Level by level within cells: sum of squares, degrees of freedom, coefficients of the components.
within_sums as (
    select
        judge_id,
        dimension,
        method_id,
        sum(n_verdicts_made) as n_verdicts,
        sum(n_answers_made) as n_answers,
        sum(n_compactions_made) as n_compaction_questions,
        sum(n_answers) as n_independent_answers,
        bool_or(varies) as varies,
        count(*) as n_cells,
        count(distinct method_id) as n_methods,
        count(distinct session_id) as n_sessions,
        count(distinct probe_id) as n_questions,
        round(sum(ss_judge) / nullif(sum(n - n_answers), 0), 10) as raw_judge,
        sum(ss_answer) as ss_answer,
        sum(n_answers - n_compactions) as df_answer,
        sum(n - answers_in_compactions) as answer_in_ss_answer,
        sum(ss_compaction) as ss_compaction,
        sum(n_compactions) - count(*) as df_compaction,
        sum(answers_in_compactions - answers_in_cell) as answer_in_ss_compaction,
        sum(n - compactions_in_cell) as compaction_in_ss_compaction,
        avg(case when varies then compactions_in_cell / n else 0 end) as compaction_in_mean,
        avg(answers_in_cell / n) as answer_in_mean,
        avg(1 / n) as judge_in_mean
    from cells
    group by grouping sets ((judge_id, dimension), (judge_id, dimension, method_id))
),

of_answer as (
    select
        *,
        case
            when df_answer > 0 then round((ss_answer - df_answer * coalesce(raw_judge, 0)) / answer_in_ss_answer, 10)
        end as raw_answer
    from within_sums
),

of_compaction as (
    select
        *,
        case
            when df_compaction > 0
                then
                    round(
                        (
                            ss_compaction
                            - df_compaction * coalesce(raw_judge, 0)
                            - answer_in_ss_compaction * coalesce(raw_answer, 0)
                        ) / compaction_in_ss_compaction, 10
                    )
            when not varies then 0
        end as raw_compaction
    from of_answer
),

-- How much of a compaction's variance its questions share: the variance of the mean over questions against that of
-- single questions, at the points where every compaction was asked the same questions.
repeated_points as (
    select
        judge_id,
        dimension,
        method_id,
        point_id,
        count(*) as n_questions,
        sum(ss_compaction_means) as ss_questions,
        any_value(n_compactions) as n_compactions
    from cells
    group by judge_id, dimension, method_id, point_id
    having count(*) > 1 and min(n_compactions) > 1 and min(n_compactions) = max(n_compactions)
),

compaction_means as (
    select
        of_compactions.judge_id,
        of_compactions.dimension,
        of_compactions.method_id,
        of_compactions.point_id,
        any_value(repeated_points.n_questions) as n_questions,
        any_value(repeated_points.ss_questions) as ss_questions,
        any_value(repeated_points.n_compactions) as n_compactions,
        count(*) as n_asked,
        avg(of_compactions.mean) as mean
    from of_compactions
    inner join repeated_points using (judge_id, dimension, method_id, point_id)
    group by
        of_compactions.judge_id, of_compactions.dimension, of_compactions.method_id, of_compactions.point_id,
        of_compactions.context_id
),

shared_by_point as (
    select
        judge_id,
        dimension,
        method_id,
        any_value(n_compactions) - 1 as df,
        (
            any_value(n_questions) * var_pop(mean) * count(*) - any_value(ss_questions) / any_value(n_questions)
        ) / (any_value(n_questions) - 1) as shared
    from compaction_means
    group by judge_id, dimension, method_id, point_id
    having count(*) = any_value(n_compactions) and min(n_asked) = any_value(n_questions)
),

shared_compaction as (
    select
        judge_id,
        dimension,
        method_id,
        round(sum(shared) / sum(df), 10) as raw_compaction_shared
    from shared_by_point
    group by grouping sets ((judge_id, dimension), (judge_id, dimension, method_id))
),

-- Between cells: within methods, sessions against questions within sessions; kind 'own' on the means as they are, kind
-- 'off' on what is left after the mean of the methods on the question.
off_method as (
    select
        judge_id,
        dimension,
        method_id,
        session_id,
        point_id,
        probe_id,
        mean,
        mean - avg(mean) over (partition by judge_id, dimension, method_id) as off
    from cells
),

off_both as (
    select
        judge_id,
        dimension,
        method_id,
        session_id,
        point_id,
        mean,
        (off - avg(off) over of_question)
        * sqrt(count(*) over of_question / nullif(count(*) over of_question - 1, 0)) as off
    from off_method
    window of_question as (partition by judge_id, dimension, probe_id)
),

both_kinds as (
    select
        judge_id,
        dimension,
        method_id,
        session_id,
        point_id,
        unnest(['own', 'off']) as kind,
        unnest([mean, off]) as value
    from off_both
),

of_points as (
    select
        judge_id,
        dimension,
        kind,
        method_id,
        session_id,
        count(*) as n,
        avg(value) as mean,
        var_pop(value) * count(*) as ss_within
    from both_kinds
    where value is not null
    group by judge_id, dimension, kind, method_id, session_id, point_id
),

of_sessions as (
    select
        judge_id,
        dimension,
        kind,
        method_id,
        sum(n) as n,
        sum(n ** 2) as n_square_points,
        sum(n * mean) / sum(n) as mean,
        sum(ss_within) + sum(n * mean ** 2) - sum(n * mean) ** 2 / sum(n) as ss_within
    from of_points
    group by judge_id, dimension, kind, method_id, session_id
),

of_methods as (
    select
        judge_id,
        dimension,
        kind,
        method_id,
        sum(n) as n,
        count(*) as n_sessions,
        sum(n) - sum(n ** 2) / sum(n) as session_in_ss,
        sum(n - n_square_points / n) as shared_in_within,
        sum(n_square_points / n) - sum(n_square_points) / sum(n) as shared_in_between,
        sum(ss_within) as ss_within,
        sum(n * mean ** 2) - sum(n * mean) ** 2 / sum(n) as ss_between
    from of_sessions
    group by judge_id, dimension, kind, method_id
),

between_sums as (
    select
        judge_id,
        dimension,
        kind,
        method_id,
        case when sum(n - n_sessions) > 0 then sum(ss_within) / sum(n - n_sessions) end as ms_within,
        case when sum(n_sessions - 1) > 0 then sum(ss_between) / sum(n_sessions - 1) end as ms_between,
        coalesce(sum(shared_in_within) / nullif(sum(n - n_sessions), 0), 0) as shared_in_within,
        sum(shared_in_between) / nullif(sum(n_sessions - 1), 0) as shared_in_between,
        sum(session_in_ss) / nullif(sum(n_sessions - 1), 0) as questions_a_session
    from of_methods
    group by grouping sets ((judge_id, dimension, kind), (judge_id, dimension, kind, method_id))
),

-- What repetitions leave in a cell's mean: noise of its own, and what it shares with the point's other questions.
gathered as (
    select
        of_compaction.*,
        shared_compaction.raw_compaction_shared,
        own.ms_within as own_within,
        own.ms_between as own_between,
        own.questions_a_session as own_questions,
        own.shared_in_within as own_shared_within,
        own.shared_in_between as own_shared_between,
        off.ms_within as off_within,
        off.ms_between as off_between,
        off.questions_a_session as off_questions,
        off.shared_in_within as off_shared_within,
        off.shared_in_between as off_shared_between,
        of_compaction.compaction_in_mean * coalesce(shared_compaction.raw_compaction_shared, 0) as noise_shared,
        of_compaction.compaction_in_mean
        * (coalesce(of_compaction.raw_compaction, 0) - coalesce(shared_compaction.raw_compaction_shared, 0))
        + of_compaction.answer_in_mean * coalesce(of_compaction.raw_answer, 0)
        + of_compaction.judge_in_mean * coalesce(of_compaction.raw_judge, 0) as noise
    from of_compaction
    inner join between_sums as own
        on
            of_compaction.judge_id = own.judge_id
            and of_compaction.dimension = own.dimension
            and of_compaction.method_id is not distinct from own.method_id
            and own.kind = 'own'
    left join between_sums as off
        on
            of_compaction.judge_id = off.judge_id
            and of_compaction.dimension = off.dimension
            and of_compaction.method_id is null
            and off.method_id is null
            and off.kind = 'off'
    left join shared_compaction
        on
            of_compaction.judge_id = shared_compaction.judge_id
            and of_compaction.dimension = shared_compaction.dimension
            and of_compaction.method_id is not distinct from shared_compaction.method_id
),

-- Mean squares less the noise that is in them.
cleaned as (
    select
        *,
        own_within - noise - own_shared_within * noise_shared as own_question,
        off_within - noise - off_shared_within * noise_shared as off_question,
        own_between - noise - own_shared_between * noise_shared as own_session,
        off_between - noise - off_shared_between * noise_shared as off_session
    from gathered
)

select
    judge_id,
    dimension,
    method_id,  -- Method; NULL in the row of all methods
    cast(n_verdicts as bigint) as n_verdicts,  -- Verdicts
    cast(n_answers as bigint) as n_answers,  -- Answers, copies included
    cast(n_compaction_questions as bigint) as n_compaction_questions,  -- Compaction × question with an answer, equal
    -- contexts included
    cast(n_independent_answers as bigint) as n_independent_answers,  -- Answers without copies, which have an equal
    -- context
    n_cells,  -- Method × question with an answer
    n_methods,  -- Methods
    n_questions,  -- Questions
    n_sessions,  -- Sessions
    round(
        (own_session - coalesce(own_question, 0)) / own_questions
        - coalesce((off_session - coalesce(off_question, 0)) / off_questions, 0), 10
    ) as raw_session,  -- Variance by session, as estimated: it can be below 0
    round((off_session - coalesce(off_question, 0)) / off_questions, 10) as raw_method_session,  -- Variance by method ×
    -- session, as estimated
    round(own_question - coalesce(off_question, 0), 10) as raw_question,  -- Variance by question within session, as
    -- estimated
    round(off_question, 10) as raw_method_question,  -- Variance by method × question, as estimated
    raw_compaction,  -- Variance by compaction replicate, as estimated
    raw_compaction_shared,  -- Part of it that all questions of a compaction share, as estimated
    raw_answer,  -- Variance by answer replicate, as estimated
    raw_judge  -- Variance by judge replicate, as estimated
from cleaned;
