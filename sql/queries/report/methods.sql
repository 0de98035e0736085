-- One row per method that the judge was given answers of, in the order of the leaderboard: quality, tokens and cost.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    leaderboard.rank,
    leaderboard.tie_group,
    leaderboard.method,
    leaderboard.overall,
    long.ci_low,
    long.ci_high,
    retention.retention,
    ranks.rank_low,
    ranks.rank_high,
    leaderboard.accuracy,
    leaderboard.context_awareness,
    leaderboard.artifact_trail,
    leaderboard.completeness,
    leaderboard.continuity,
    leaderboard.instruction_following,
    leaderboard.constraints,
    leaderboard.overall_of_dimensions,
    leaderboard.tokens_removed,
    pareto.tokens_read,
    tokens_per_task.context_tokens,
    tokens_per_task.refetch_tokens,
    tokens_per_task.tokens_per_task,
    tokens_per_task.break_even_turns,
    tokens_per_task.breaks_even,
    compression.seconds,
    compression.cost_usd + compression.saved_usd as cost_usd,
    compression.n_cost_unknown,
    compression.n_done as n_compactions,
    compression.n_failed as n_compactions_failed,
    compression.n_grew,
    leaderboard.n_answers,
    leaderboard.n_sessions,
    leaderboard.n_unscored,
    leaderboard.overall_for_rank,
    fronts.kept as retention_for_rank,
    leaderboard.is_partial,
    fronts.on_front,
    fronts.cost,
    fronts.cost_in,
    leaderboard.n_points_not_applicable,
    pareto.on_frontier,
    pareto.dominated_by,
    stg_methods.strategy,
    stg_methods.params,
    stg_methods.peer,
    stg_methods.peer_version,
    stg_methods.mode,
    stg_methods.needs_model,
    stg_methods.history,
    stg_methods.summarizer,
    stg_methods.is_control,
    leaderboard.method_id
from leaderboard
inner join stg_methods on leaderboard.method_id = stg_methods.method_id
left join leaderboard_long as long
    on
        leaderboard.judge_id = long.judge_id
        and leaderboard.method_id = long.method_id
        and long.dimension = 'overall'
left join retention
    on
        leaderboard.judge_id = retention.judge_id
        and leaderboard.method = retention.method
        and retention.dimension = 'overall'
left join rank_intervals as ranks
    on leaderboard.judge_id = ranks.judge_id and leaderboard.method_id = ranks.method_id
left join pareto on leaderboard.judge_id = pareto.judge_id and leaderboard.method_id = pareto.method_id
left join tokens_per_task on leaderboard.method_id = tokens_per_task.method_id
left join compression on leaderboard.method_id = compression.method_id
left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
where leaderboard.judge_id = getvariable('judge_id') and leaderboard.is_current
order by fronts.line nulls last, leaderboard.method
