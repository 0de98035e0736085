-- One row per judge × method × probe with a score: the method's overall on it, and the tokens that it was answered
-- from.
--
-- Means over the method's replicates. What the answering model reads is the compacted context and, under a method
-- that fetches for a question (retrieval), what was fetched for this one: without it such a method would look
-- cheaper than it is.
--
-- Of current methods only: those that the newest run of the study asks for.
create view agg_probe_budgets as
select
    int_answer_scores.judge_id,
    int_answer_scores.method_id,
    int_answer_scores.probe_id,
    int_answer_scores.session_id,
    avg(int_answer_scores.score) as score,
    avg(compactions.tokens_before) as tokens_before,
    avg(compactions.tokens_after) as context_tokens,
    avg(coalesce(answers.fetched_tokens, 0)) as fetched_tokens,
    avg(compactions.tokens_after + coalesce(answers.fetched_tokens, 0)) as tokens_read
from int_answer_scores
inner join answers on int_answer_scores.answer_id = answers.answer_id
inner join compactions on answers.compaction_id = compactions.compaction_id
inner join methods on int_answer_scores.method_id = methods.method_id
where int_answer_scores.dimension = 'overall' and methods.is_current
group by
    int_answer_scores.judge_id, int_answer_scores.method_id, int_answer_scores.probe_id, int_answer_scores.session_id;

comment on column agg_probe_budgets.judge_id is 'Judge version';
comment on column agg_probe_budgets.method_id is 'Identity of the method';
comment on column agg_probe_budgets.probe_id is 'Question';
comment on column agg_probe_budgets.session_id is 'Session that it asks about';
comment on column agg_probe_budgets.score is 'Mean of overall over the replicates, 0 to 5';
comment on column agg_probe_budgets.tokens_before is 'Tokens of the history that the method was given';
comment on column agg_probe_budgets.context_tokens is 'Tokens of the compacted context';
comment on column agg_probe_budgets.fetched_tokens is 'Tokens that were fetched for the question; 0 for most methods';
comment on column agg_probe_budgets.tokens_read is 'context_tokens + fetched_tokens: what the answering model read';
