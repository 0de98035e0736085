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
    case when agg_variance.raw_session is not null then greatest(agg_variance.raw_session, 0) end as var_session,
    case when agg_variance.raw_question is not null then greatest(agg_variance.raw_question, 0) end as var_question,
    case when agg_variance.raw_compaction is not null then greatest(agg_variance.raw_compaction, 0) end
        as var_compaction,
    case when agg_variance.raw_answer is not null then greatest(agg_variance.raw_answer, 0) end as var_answer,
    case when agg_variance.raw_judge is not null then greatest(agg_variance.raw_judge, 0) end as var_judge,
    agg_variance.raw_session,
    agg_variance.raw_question,
    agg_variance.raw_compaction,
    agg_variance.raw_compaction_shared,
    agg_variance.raw_answer,
    agg_variance.raw_judge,
    agg_variance.n_sessions,
    agg_variance.n_questions,
    agg_variance.n_answers,
    agg_variance.n_independent_answers,
    agg_variance.n_verdicts,
    agg_variance.method_id
from agg_variance
inner join stg_methods on agg_variance.method_id = stg_methods.method_id
left join judges on agg_variance.judge_id = judges.judge_id
order by
    judges.judge, agg_variance.judge_id, agg_variance.dimension <> 'overall', agg_variance.dimension,
    stg_methods.method;

comment on column variance_components_by_method.judge_id is 'Judge version';
comment on column variance_components_by_method.judge is 'embedded (no language model) or the spec of a model';
comment on column variance_components_by_method.dimension is 'Dimension of the rubric, or overall';
comment on column variance_components_by_method.method is 'Name of the method';
comment on column variance_components_by_method.var_session is 'Points²: between sessions; NULL with a single session';
comment on column variance_components_by_method.var_question is 'Points²: between questions of a session';
comment on column variance_components_by_method.var_compaction is
'Points²: between repetitions of the compaction; 0 where their contexts are equal, NULL where none was repeated';
comment on column variance_components_by_method.var_answer is
'Points²: between repetitions of the answer; NULL where none was repeated';
comment on column variance_components_by_method.var_judge is
'Points²: between repetitions of the verdict; NULL where none was repeated';
comment on column variance_components_by_method.raw_session is 'Estimate behind var_session, which can be below 0';
comment on column variance_components_by_method.raw_question is 'Estimate behind var_question, which can be below 0';
comment on column variance_components_by_method.raw_compaction is
'Estimate behind var_compaction, which can be below 0';
comment on column variance_components_by_method.raw_compaction_shared is
'Part of raw_compaction that all questions to one compaction share; NULL where no contexts differ';
comment on column variance_components_by_method.raw_answer is 'Estimate behind var_answer, which can be below 0';
comment on column variance_components_by_method.raw_judge is 'Estimate behind var_judge';
comment on column variance_components_by_method.n_sessions is 'Sessions with a score';
comment on column variance_components_by_method.n_questions is 'Probes with a score';
comment on column variance_components_by_method.n_answers is
'Answers with a score, copies for equal contexts included';
comment on column variance_components_by_method.n_independent_answers is
'Answers with a score, each once: repetitions with equal contexts share theirs';
comment on column variance_components_by_method.n_verdicts is 'Verdicts with a score';
comment on column variance_components_by_method.method_id is 'Identity of the method';
