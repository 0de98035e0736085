-- Quality and tokens: which methods give the most quality for their tokens?
--
-- One row per judge × method, those on the frontier first. A method is off the frontier when another one is at least as
-- good with at most its tokens; distance says by how much, p_adjusted whether that is more than noise. above_recency
-- compares with keeping just the newest messages in as many tokens; it is there when recency was run in several sizes
-- (`--strategies @defaults,@recency-ladder`). Tokens of a request are not what a task costs: what was dropped and is
-- needed again has to be fetched again, so tokens_per_task adds the expected tokens of that to those that are kept. It
-- comes from what the sessions really did after the point and asks no judge.
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id (default: every judge, one after the other)
--
-- Columns:
--   judge              embedded (no language model) or the spec of a model
--   judge_id           judge version
--   method             name of the method
--   overall            mean over answers, 0 to 5
--   tokens_kept        share of tokens that its contexts keep
--   tokens_read        mean tokens that a question was answered from, what was fetched for it included
--   on_frontier        whether no other method is at least as good with at most its tokens
--   dominated_by       the best of the methods that dominate it; NULL on the frontier
--   distance           points of overall that this one is better by, on the same questions
--   p_adjusted         p of that difference, corrected for all pairs of methods (Holm)
--   above_recency      points of overall above plain recency of the same tokens; NULL where that cannot be said
--   p_above_recency    p of that, corrected for all methods (Holm)
--   context_tokens     mean tokens of its contexts, over the compactions that are measured
--   refetch_tokens     mean tokens that have to be fetched again
--   tokens_per_task    the sum of both
--   break_even_turns   turns after which the compaction has paid, without prompt caching; NULL: see breaks_even
--   breaks_even        yes, never, or unknown
select
    pareto.judge,
    pareto.judge_id,
    pareto.method,
    pareto.overall,
    pareto.tokens_kept,
    pareto.tokens_read,
    pareto.on_frontier,
    pareto.dominated_by,
    pareto.distance,
    pareto.p_adjusted,
    matched_budget.difference as above_recency,
    matched_budget.p_adjusted as p_above_recency,
    tokens_per_task.context_tokens,
    tokens_per_task.refetch_tokens,
    tokens_per_task.tokens_per_task,
    tokens_per_task.break_even_turns,
    tokens_per_task.breaks_even
from pareto
left join matched_budget on pareto.judge_id = matched_budget.judge_id and pareto.method_id = matched_budget.method_id
left join tokens_per_task on pareto.method_id = tokens_per_task.method_id
where judge_is_wanted(pareto.judge, pareto.judge_id)
order by pareto.judge asc, pareto.judge_id asc, pareto.on_frontier desc, pareto.overall desc, pareto.method asc
