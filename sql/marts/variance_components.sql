-- One row per judge × dimension (and 'overall'): where the scatter of scores comes from.
--
-- Every component is a variance in points²; the model and the estimators are told in agg_variance. Methods' means are
-- taken off first. var_* is the estimate, 0 where the raw one (raw_*) is below 0, which says that it is small; share_*
-- is its part of the sum of all that could be told. NULL is what the data cannot tell apart, and cannot_tell says why
-- and where that variance went. Differences of methods on the same questions are free of var_session and var_question.
-- Methods are the current ones; variance_components_by_method has each by itself.
create view variance_components as
with truncated as (
    select
        *,
        at_least_0(raw_session) as var_session,
        at_least_0(raw_method_session) as var_method_session,
        at_least_0(raw_question) as var_question,
        at_least_0(raw_method_question) as var_method_question,
        at_least_0(raw_compaction) as var_compaction,
        at_least_0(raw_answer) as var_answer,
        at_least_0(raw_judge) as var_judge
    from agg_variance
    where method_id is null
),

summed as (
    select
        *,
        nullif(
            list_sum([
                var_session, var_method_session, var_question, var_method_question,
                var_compaction, var_answer, var_judge
            ]), 0
        ) as var_total,
        list_filter(
            [
                case when raw_judge is null then 'judge: one verdict an answer, its noise is in the level above' end,
                case
                    when raw_answer is null
                        then 'answer: one answer a compaction, its noise is in the level above'
                end,
                case
                    when raw_compaction is null
                        then 'compaction: one compaction a method and point, its noise is in method × question'
                end,
                case when raw_question is null then 'question: one a session, its variance is in session' end,
                case
                    when raw_method_question is null and n_methods < 2
                        then 'method × session, method × question: one method, they are in session and question'
                    when raw_method_question is null
                        then 'method × question: one question a session, its variance is in method × session'
                end,
                case when raw_session is null then 'session: there is one session' end
            ],
            lambda reason: reason is not null
        ) as cannot_tell
    from truncated
)

select
    summed.judge_id,
    judges.judge,
    summed.dimension,
    summed.var_session,  -- Points²: between sessions, alike for all methods; NULL with a single session
    summed.var_compaction,  -- Points²: between repetitions of the compaction that left different contexts; 0 where all
    -- are equal, NULL where none
    summed.var_answer,
    summed.var_judge,
    summed.var_method_session,  -- Points²: what methods make of a session, each its own
    summed.var_question,  -- Points²: between questions of a session, alike for all methods
    summed.var_method_question,  -- Points²: what methods make of a question, each its own, with the noise of all that
    -- was not repeated
    summed.var_session / summed.var_total as share_session,  -- var_session as share (0 to 1) of the sum of all var_*
    summed.var_compaction / summed.var_total as share_compaction,  -- var_compaction as share (0 to 1) of the sum of all
    -- var_*
    summed.var_answer / summed.var_total as share_answer,  -- var_answer as share (0 to 1) of the sum of all var_*
    summed.var_judge / summed.var_total as share_judge,  -- var_judge as share (0 to 1) of the sum of all var_*
    summed.var_method_session / summed.var_total as share_method_session,  -- var_method_session as share (0 to 1) of
    -- the sum of all var_*
    summed.var_question / summed.var_total as share_question,  -- var_question as share (0 to 1) of the sum of all var_*
    summed.var_method_question / summed.var_total as share_method_question,  -- var_method_question as share (0 to 1) of
    -- the sum of all var_*
    summed.raw_session,  -- Estimate behind var_session, which can be below 0
    summed.raw_compaction,  -- Estimate behind var_compaction, which can be below 0
    summed.raw_answer,  -- Estimate behind var_answer, which can be below 0
    summed.raw_judge,  -- Estimate behind var_judge
    summed.raw_method_session,  -- Estimate behind var_method_session, which can be below 0
    summed.raw_question,  -- Estimate behind var_question, which can be below 0
    summed.raw_method_question,  -- Estimate behind var_method_question, which can be below 0
    summed.raw_compaction_shared,  -- Part of raw_compaction that all questions to one compaction share; NULL where no
    -- compactions were repeated alike
    summed.n_methods,  -- Methods with a score
    summed.n_sessions,  -- Sessions with a score
    summed.n_questions,  -- Probes with a score
    summed.n_cells,  -- Methods × questions with a score
    summed.n_compaction_questions,  -- Compactions × questions with a score
    summed.n_answers,  -- Answers with a score, copies for equal contexts included
    summed.n_verdicts,  -- Verdicts with a score
    summed.cannot_tell,  -- What the data cannot tell apart, and where its variance is counted; empty when all levels
    -- are repeated
    summed.n_independent_answers  -- Answers with a score, each once: repetitions of a method with equal contexts share
    -- theirs
from summed
left join judges on summed.judge_id = judges.judge_id
order by judges.judge, summed.judge_id, summed.dimension <> 'overall', summed.dimension;
