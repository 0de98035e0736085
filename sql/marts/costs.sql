-- One row per stage × model: calls and spend.
create view costs as
select
    stage,
    model,
    count(*) as n_calls,
    count(*) filter (where cached) as n_cached,
    count(*) filter (where status <> 'done') as n_not_done,
    cast(sum(input_tokens) filter (where not cached) as bigint) as input_tokens,
    cast(sum(output_tokens) filter (where not cached) as bigint) as output_tokens,
    sum(cost_usd) filter (where not cached) as cost_usd,
    count(*) filter (where not cached and cost_usd is null) as n_cost_unknown,
    sum(seconds) filter (where not cached) as seconds,
    sum(saved_usd) as saved_usd
from calls
group by stage, model
order by stage, model;

comment on column costs.stage is 'Stage that made the calls';
comment on column costs.model is 'Model that was called';
comment on column costs.n_calls is 'Calls, those that the cache answered included';
comment on column costs.n_cached is 'Calls that the cache answered, so that nothing was spent';
comment on column costs.n_not_done is 'Calls that went wrong';
comment on column costs.input_tokens is 'Tokens that were sent, without the cached calls';
comment on column costs.output_tokens is 'Tokens that came back, without the cached calls';
comment on column costs.cost_usd is 'US dollars spent on the calls whose price is known; NULL when none is';
comment on column costs.n_cost_unknown is 'Calls whose price is not known and that cost_usd leaves out';
comment on column costs.seconds is 'Wall time in seconds, without the cached calls';
comment on column costs.saved_usd is 'US dollars that the calls which the cache answered had cost, where that is known';
