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
    (select m.method from stg_methods as m where m.method_id = int_answer_scores.method_id) as method,
    int_answer_scores.probe_id,
    int_answer_scores.session_id,  -- Session that it asks about
    avg(int_answer_scores.score) as score,  -- Mean of overall over the replicates, 0 to 5
    avg(compactions.tokens_before) as tokens_before,  -- Tokens of the history that the method was given
    avg(compactions.tokens_after) as context_tokens,
    avg(coalesce(answers.fetched_tokens, 0)) as fetched_tokens,  -- Tokens that were fetched for the question; 0 for
    -- most methods
    avg(coalesce(len(answers.fetches), 0)) as n_fetches,  -- Requests by which dropped messages were fetched for it
    avg(compactions.tokens_after + coalesce(answers.fetched_tokens, 0)) as tokens_read  -- context_tokens +
    -- fetched_tokens: what the answering model read
from int_answer_scores
inner join answers on int_answer_scores.answer_id = answers.answer_id
inner join compactions on answers.compaction_id = compactions.compaction_id
inner join methods on int_answer_scores.method_id = methods.method_id
where int_answer_scores.dimension = 'overall' and methods.is_current
group by
    int_answer_scores.judge_id, int_answer_scores.method_id, int_answer_scores.probe_id, int_answer_scores.session_id;
