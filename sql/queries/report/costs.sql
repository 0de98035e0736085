-- One row per stage × model: calls, tokens and spend.
select
    stage,
    model,
    n_calls,
    n_cached,
    n_not_done,
    input_tokens,
    output_tokens,
    cached_input_tokens,
    cache_write_tokens,
    cost_usd,
    n_cost_unknown,
    n_unread,
    unread_usd
from costs
order by stage, model
