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
        case when raw_session is not null then greatest(raw_session, 0) end as var_session,
        case when raw_method_session is not null then greatest(raw_method_session, 0) end as var_method_session,
        case when raw_question is not null then greatest(raw_question, 0) end as var_question,
        case when raw_method_question is not null then greatest(raw_method_question, 0) end as var_method_question,
        case when raw_compaction is not null then greatest(raw_compaction, 0) end as var_compaction,
        case when raw_answer is not null then greatest(raw_answer, 0) end as var_answer,
        case when raw_judge is not null then greatest(raw_judge, 0) end as var_judge
    from agg_variance
    where method_id is null
),

summed as (
    select
        *,
        nullif(
            coalesce(var_session, 0)
            + coalesce(var_method_session, 0)
            + coalesce(var_question, 0)
            + coalesce(var_method_question, 0)
            + coalesce(var_compaction, 0)
            + coalesce(var_answer, 0)
            + coalesce(var_judge, 0), 0
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
    summed.var_session,
    summed.var_compaction,
    summed.var_answer,
    summed.var_judge,
    summed.var_method_session,
    summed.var_question,
    summed.var_method_question,
    summed.var_session / summed.var_total as share_session,
    summed.var_compaction / summed.var_total as share_compaction,
    summed.var_answer / summed.var_total as share_answer,
    summed.var_judge / summed.var_total as share_judge,
    summed.var_method_session / summed.var_total as share_method_session,
    summed.var_question / summed.var_total as share_question,
    summed.var_method_question / summed.var_total as share_method_question,
    summed.raw_session,
    summed.raw_compaction,
    summed.raw_answer,
    summed.raw_judge,
    summed.raw_method_session,
    summed.raw_question,
    summed.raw_method_question,
    summed.raw_compaction_shared,
    summed.n_methods,
    summed.n_sessions,
    summed.n_questions,
    summed.n_cells,
    summed.n_compaction_questions,
    summed.n_answers,
    summed.n_verdicts,
    summed.cannot_tell,
    summed.n_independent_answers
from summed
left join judges on summed.judge_id = judges.judge_id
order by judges.judge, summed.judge_id, summed.dimension <> 'overall', summed.dimension;

comment on column variance_components.judge_id is 'Judge version';
comment on column variance_components.judge is 'embedded (no language model) or the spec of a model';
comment on column variance_components.dimension is 'Dimension of the rubric, or overall';
comment on column variance_components.var_session is
'Points²: between sessions, alike for all methods; NULL with a single session';
comment on column variance_components.var_compaction is
'Points²: between repetitions of the compaction that left different contexts; 0 where all are equal, NULL where none';
comment on column variance_components.var_answer is
'Points²: between repetitions of the answer; NULL where none was repeated';
comment on column variance_components.var_judge is
'Points²: between repetitions of the verdict; NULL where none was repeated';
comment on column variance_components.var_method_session is 'Points²: what methods make of a session, each its own';
comment on column variance_components.var_question is 'Points²: between questions of a session, alike for all methods';
comment on column variance_components.var_method_question is
'Points²: what methods make of a question, each its own, with the noise of all that was not repeated';
comment on column variance_components.share_session is 'var_session as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_compaction is 'var_compaction as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_answer is 'var_answer as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_judge is 'var_judge as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_method_session is
'var_method_session as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_question is 'var_question as share (0 to 1) of the sum of all var_*';
comment on column variance_components.share_method_question is
'var_method_question as share (0 to 1) of the sum of all var_*';
comment on column variance_components.raw_session is 'Estimate behind var_session, which can be below 0';
comment on column variance_components.raw_compaction is 'Estimate behind var_compaction, which can be below 0';
comment on column variance_components.raw_answer is 'Estimate behind var_answer, which can be below 0';
comment on column variance_components.raw_judge is 'Estimate behind var_judge';
comment on column variance_components.raw_method_session is 'Estimate behind var_method_session, which can be below 0';
comment on column variance_components.raw_question is 'Estimate behind var_question, which can be below 0';
comment on column variance_components.raw_method_question is
'Estimate behind var_method_question, which can be below 0';
comment on column variance_components.raw_compaction_shared is
'Part of raw_compaction that all questions to one compaction share; NULL where no compactions were repeated alike';
comment on column variance_components.n_methods is 'Methods with a score';
comment on column variance_components.n_sessions is 'Sessions with a score';
comment on column variance_components.n_questions is 'Probes with a score';
comment on column variance_components.n_cells is 'Methods × questions with a score';
comment on column variance_components.n_compaction_questions is 'Compactions × questions with a score';
comment on column variance_components.n_answers is 'Answers with a score, copies for equal contexts included';
comment on column variance_components.n_verdicts is 'Verdicts with a score';
comment on column variance_components.cannot_tell is
'What the data cannot tell apart, and where its variance is counted; empty when all levels are repeated';
comment on column variance_components.n_independent_answers is
'Answers with a score, each once: repetitions of a method with equal contexts share theirs';
