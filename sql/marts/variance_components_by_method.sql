-- One row per judge × dimension (and 'overall') × current method: where the scatter of its scores comes from.
--
-- As variance_components, from the scores of this method alone, so that no other method changes it. var_session and
-- var_question hold what variance_components has apart as method × session and method × question. A method whose
-- repeated compactions always left one context has var_compaction 0.
create view variance_components_by_method as
select
    agg_variance.judge_id,
    judges.judge,
    agg_variance.dimension,
    stg_methods.method,
    at_least_0(agg_variance.raw_session) as var_session,  -- Points²: between sessions; NULL with a single session
    at_least_0(agg_variance.raw_question) as var_question,  -- Points²: between questions of a session
    at_least_0(agg_variance.raw_compaction) as var_compaction,  -- Points²: between repetitions of the compaction; 0
    -- where their contexts are equal, NULL where none was repeated
    at_least_0(agg_variance.raw_answer) as var_answer,
    at_least_0(agg_variance.raw_judge) as var_judge,
    agg_variance.raw_session,  -- Estimate behind var_session, which can be below 0
    agg_variance.raw_question,  -- Estimate behind var_question, which can be below 0
    agg_variance.raw_compaction,  -- Estimate behind var_compaction, which can be below 0
    agg_variance.raw_compaction_shared,  -- Part of raw_compaction that all questions to one compaction share; NULL
    -- where no contexts differ
    agg_variance.raw_answer,  -- Estimate behind var_answer, which can be below 0
    agg_variance.raw_judge,  -- Estimate behind var_judge
    agg_variance.n_sessions,  -- Sessions with a score
    agg_variance.n_questions,  -- Probes with a score
    agg_variance.n_answers,  -- Answers with a score, copies for equal contexts included
    agg_variance.n_independent_answers,  -- Answers with a score, each once: repetitions with equal contexts share
    -- theirs
    agg_variance.n_verdicts,  -- Verdicts with a score
    agg_variance.method_id
from agg_variance
inner join stg_methods on agg_variance.method_id = stg_methods.method_id
left join judges on agg_variance.judge_id = judges.judge_id
order by
    judges.judge, agg_variance.judge_id, agg_variance.dimension <> 'overall', agg_variance.dimension,
    stg_methods.method;
