-- Sweep: how do quality and tokens move with a parameter of a strategy?
--
-- One row per judge × method of a sweep, in the order of the values: the methods of a strategy that differ in one
-- parameter alone, where it has three values or more (`--strategies "head_tail(tail=[5,10,20])"`). Methods with other
-- parameters (rest), another summarizer or another history are another sweep.
--
-- Parameters:
--   judge      name of a judge, or the beginning of its id (default: every judge, one after the other)
--   strategy   id of a strategy (default: every one)
--
-- Columns:
--   judge          embedded (no language model) or the spec of a model
--   judge_id       judge version
--   strategy       id of the strategy
--   parameter      the parameter that differs
--   value          its value
--   method         name of the method
--   overall        mean over answers, 0 to 5
--   gain           points of overall above the value before; NULL for the first
--   retention      share of the history's worth that is kept; NULL without the controls none and empty
--   tokens_read    mean tokens that a question was answered from
--   is_partial     whether it was not applicable at some points, so that its figures are over other questions
--   rest           the other parameters of the strategy, JSON; the same in all of a sweep
--   summarizer     model that wrote the summaries; NULL where the strategy has none
--   history        prefix or chain: what the methods compact
with named as (
    select
        method_id,
        unnest(json_keys(params)) as parameter
    from methods
),

others as (
    select
        named.method_id,
        named.parameter,
        methods.strategy,
        methods.history,
        methods.summarizer,
        json_extract(methods.params, '$."' || named.parameter || '"') as value,
        json_merge_patch(methods.params, json_object(named.parameter, null)) as rest
    from named
    inner join methods on named.method_id = methods.method_id
    where methods.is_current
),

swept as (
    select
        pareto.judge,
        pareto.judge_id,
        others.strategy,
        others.history,
        others.summarizer,
        others.parameter,
        others.rest,
        others.value,
        pareto.method,
        pareto.overall,
        retention.retention,
        pareto.tokens_read,
        leaderboard.is_partial,
        count(distinct others.value) over (
            partition by
                pareto.judge_id, others.strategy, others.history, others.summarizer, others.parameter, others.rest
        ) as n_values
    from others
    inner join pareto on others.method_id = pareto.method_id
    inner join leaderboard on pareto.judge_id = leaderboard.judge_id and pareto.method_id = leaderboard.method_id
    left join retention
        on
            pareto.judge_id = retention.judge_id
            and pareto.method = retention.method
            and retention.dimension = 'overall'
    where
        judge_is_wanted(pareto.judge, pareto.judge_id)
        and coalesce(others.strategy = getvariable('strategy'), true)
)

select
    judge,
    judge_id,
    strategy,
    parameter,
    json_extract_string(value, '$') as value,
    method,
    overall,
    overall - lag(overall) over in_order as gain,
    retention,
    tokens_read,
    is_partial,
    rest,
    summarizer,
    history
from swept
where n_values >= 3
window
    in_order as (
        partition by judge_id, strategy, history, summarizer, parameter, rest
        order by try_cast(value as double), json_extract_string(value, '$')
    )
order by judge, judge_id, strategy, parameter, rest, history, summarizer, try_cast(value as double), value
