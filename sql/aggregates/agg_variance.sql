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

-- What is left of a cell's mean after the mean of the methods on the question.
off_method as (
    select
        *,
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
        (off - avg(off) over of_question)
        * sqrt(count(*) over of_question / nullif(count(*) over of_question - 1, 0)) as value
    from off_method
    window of_question as (partition by judge_id, dimension, probe_id)
),

as_they_are as (
    select
        *,
        mean as value
    from cells
),

repeated as (
    select * from repetition_variances(cells)
),

shared as (
    select * from shared_variance(of_compactions, cells)
),

own as (
    select * from mean_squares(as_they_are)
),

off as (
    select * from mean_squares(off_both) where method_id is null
),

-- What repetitions leave in a cell's mean: noise of its own, and what it shares with the point's other questions.
gathered as (
    select
        repeated.*,
        shared.raw_compaction_shared,
        own.squares as own,
        off.squares as off,
        repeated.compaction_in_mean * coalesce(shared.raw_compaction_shared, 0) as noise_shared,
        repeated.compaction_in_mean
        * (coalesce(repeated.raw_compaction, 0) - coalesce(shared.raw_compaction_shared, 0))
        + repeated.answer_in_mean * coalesce(repeated.raw_answer, 0)
        + repeated.judge_in_mean * coalesce(repeated.raw_judge, 0) as noise
    from repeated
    inner join own
        on
            repeated.judge_id = own.judge_id
            and repeated.dimension = own.dimension
            and repeated.method_id is not distinct from own.method_id
    left join off
        on
            repeated.judge_id = off.judge_id
            and repeated.dimension = off.dimension
            and repeated.method_id is null
    left join shared
        on
            repeated.judge_id = shared.judge_id
            and repeated.dimension = shared.dimension
            and repeated.method_id is not distinct from shared.method_id
),

-- Mean squares less the noise that is in them.
cleaned as (
    select
        *,
        own.questions as own_questions,
        off.questions as off_questions,
        own.within - noise - own.shared_within * noise_shared as own_question,
        off.within - noise - off.shared_within * noise_shared as off_question,
        own.between - noise - own.shared_between * noise_shared as own_session,
        off.between - noise - off.shared_between * noise_shared as off_session
    from gathered
)

select
    judge_id,
    dimension,
    method_id,  -- Method; NULL in the row of all methods
    (select m.method from stg_methods as m where m.method_id = cleaned.method_id) as method,
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
