-- One row per judge × current method that is no control, best first: what it is against the baseline, whether it may be
-- recommended, and for what it is.
--
-- Three are picked among those that may be recommended (left_out_because is NULL). is_best has the highest overall.
-- is_best_value has the most retention above its share of what no compaction costs, in dollars where all were replayed,
-- else in tokens read: the point farthest above the line from nothing (0, 0) to everything (1, 1), the curve's knee
-- (Satopää et al. 2011). is_cheapest reads the fewest tokens of those that are shown to be at most 0.2 worse than the
-- baseline (p_not_worse_adjusted) and that read fewer than it.
--
-- No compaction loses nothing. So what costs more in the replay (costs_more_than_none; dollars within 1 % are the same,
-- as in `fronts`) is picked as is_best or is_cheapest only where nothing else is.
--
-- Tokens are what a question was answered from. Those against the baseline are on the questions that both have, so that
-- a baseline that is not applicable everywhere is compared over its own points.
--
-- A method with fetches of dropped messages (recover) is left out: it is what fetching could give, if an agent asked.
--
-- A method that loses more constraints than the baseline is left out, at 5 % and not corrected: to leave one out
-- wrongly costs less than to recommend one that forgets what it must not do.
--
-- sessions_needed: how many sessions like these would show a difference of 0.2 in 80 % of studies, after the first step
-- of Holm's correction, n = G ((z(1 - 0.05 / 2m) + z(0.8)) s / 0.2)² with G sessions, m comparisons and the error s of
-- the difference (the sample size of a paired comparison, Chow, Shao and Wang 2008). It takes the error for known, so
-- it is a guess to one digit.
--
-- Parameters (variables):
--   baseline_id               method to compare with; NULL: the default of `against_baseline`
--   least_retention           share (0 to 1) that a recommended method has to keep; NULL: any
--   most_tokens               mean tokens that a question may be answered from; NULL: any
--   price_list                model at whose prices a session is reckoned, of price_lists
--   most_usd                  US dollars that a session may cost on average (view replay_cost); NULL: any
--   allow_lost_constraints    whether a method may lose more constraints than the baseline
with differences as materialized (
    select *
    from against_baseline
    where dimension in ('overall', 'constraints')
),

baselines as (
    select distinct
        judge_id,
        baseline_id,
        baseline
    from differences
    where dimension = 'overall' and coalesce(baseline_id = getvariable('baseline_id'), is_default)
),

-- Materialized, and the baseline's before the rest: else every method's questions are joined with every other's.
baseline_tokens as materialized (
    select
        base.judge_id,
        base.probe_id,
        base.tokens_read
    from agg_probe_budgets as base
    inner join baselines on base.judge_id = baselines.judge_id and base.method_id = baselines.baseline_id
),

tokens as materialized (
    select
        own.judge_id,
        own.method_id,
        avg(own.tokens_read) as tokens,
        avg(base.tokens_read) as baseline_tokens
    from agg_probe_budgets as own
    inner join baseline_tokens as base on own.probe_id = base.probe_id and own.judge_id = base.judge_id
    group by own.judge_id, own.method_id
),

ceilings as (
    select
        pareto.judge_id,
        any_value(pareto.tokens_read) as tokens
    from pareto
    inner join stg_methods on pareto.method_id = stg_methods.method_id
    where stg_methods.strategy = 'none'
    group by pareto.judge_id
),

compared as (
    select
        differences.*,
        count(differences.p_value) over (
            partition by differences.judge_id, differences.dimension, differences.is_control
        ) as n_compared
    from differences
    inner join baselines
        on differences.judge_id = baselines.judge_id and differences.baseline_id = baselines.baseline_id
),

candidates as (
    select
        leaderboard.judge_id,
        leaderboard.judge,
        leaderboard.method,
        leaderboard.method_id,
        leaderboard.place,
        leaderboard.tie_group,
        leaderboard.overall,
        leaderboard.n_sessions,
        retention.retention,
        retention.ci_low as retention_ci_low,
        retention.ci_high as retention_ci_high,
        pareto.tokens_read as tokens,
        replay_cost.usd_per_session as usd,
        replay_cost.n_sessions as n_replayed,
        replay_cost.share_of_none,
        coalesce(replay_cost.share_of_none > 1.01, false) as costs_more_than_none,
        tokens.tokens / tokens.baseline_tokens as token_share,
        retention.retention - case
            when bool_and(replay_cost.share_of_none is not null) over (partition by leaderboard.judge_id)
                then replay_cost.share_of_none
            else pareto.tokens_read / ceilings.tokens
        end as value,
        baselines.baseline,
        leaderboard.method_id = baselines.baseline_id as is_baseline,
        overall.difference,
        overall.ci_low,
        overall.ci_high,
        overall.p_adjusted,
        overall.p_not_worse_adjusted,
        overall.says,
        overall.n_compared,
        case
            when overall.std_error is not null
                then ceil(
                    overall.n_sessions
                    * (
                        (normal_quantile(1 - 0.05 / (2 * overall.n_compared)) + normal_quantile(0.8))
                        * overall.std_error / margin()
                    ) ** 2
                )
        end as sessions_needed,
        overall.n_sessions as n_sessions_compared,
        constraints.difference as constraints_difference,
        constraints.p_value as constraints_p_value,
        constraints.n_pairs as n_constraints,
        case
            when stg_methods.strategy = 'recover' then 'fetches for questions'
            when leaderboard.is_partial then 'not applicable everywhere'
            when
                constraints.difference < 0 and constraints.p_value < 0.05
                and not coalesce(getvariable('allow_lost_constraints'), false)
                then 'loses constraints'
            when coalesce(retention.retention, 0) < getvariable('least_retention') then 'keeps too little'
            when pareto.tokens_read > getvariable('most_tokens') then 'too many tokens'
            when coalesce(replay_cost.usd_per_session, 'inf'::double) > getvariable('most_usd') then 'costs too much'
        end as left_out_because
    from leaderboard
    inner join stg_methods on leaderboard.method_id = stg_methods.method_id
    inner join baselines on leaderboard.judge_id = baselines.judge_id
    left join compared as overall
        on
            leaderboard.judge_id = overall.judge_id
            and leaderboard.method_id = overall.method_id
            and overall.dimension = 'overall'
    left join compared as constraints
        on
            leaderboard.judge_id = constraints.judge_id
            and leaderboard.method_id = constraints.method_id
            and constraints.dimension = 'constraints'
    left join retention
        on
            leaderboard.judge_id = retention.judge_id
            and leaderboard.method = retention.method
            and retention.dimension = 'overall'
    left join pareto on leaderboard.judge_id = pareto.judge_id and leaderboard.method_id = pareto.method_id
    left join replay_cost
        on leaderboard.method_id = replay_cost.method_id and replay_cost.price_list = getvariable('price_list')
    left join tokens on leaderboard.judge_id = tokens.judge_id and leaderboard.method_id = tokens.method_id
    left join ceilings on leaderboard.judge_id = ceilings.judge_id
    where leaderboard.is_current and not stg_methods.is_control and leaderboard.overall is not null
),

ranked as (
    select
        *,
        p_not_worse_adjusted < 0.05 and token_share < 1 and left_out_because is null as is_as_good,
        row_number() over (
            partition by judge_id, left_out_because is null order by costs_more_than_none, place
        ) as quality_place,
        row_number() over (
            partition by judge_id, left_out_because is null order by value desc nulls last, place asc
        ) as value_place
    from candidates
)

select
    judge_id,
    judge,
    baseline,
    method,
    overall,
    retention,
    retention_ci_low,
    retention_ci_high,
    tokens,
    usd,
    n_replayed,
    share_of_none,
    costs_more_than_none,
    token_share,
    value,
    tie_group,
    is_baseline,
    difference,
    ci_low,
    ci_high,
    p_adjusted,
    p_not_worse_adjusted,
    says,
    n_compared,
    sessions_needed,
    n_sessions,
    n_sessions_compared,
    constraints_difference,
    constraints_p_value,
    n_constraints,
    left_out_because,
    left_out_because is null and quality_place = 1 as is_best,
    left_out_because is null and value_place = 1 and value is not null as is_best_value,
    coalesce(
        is_as_good
        and row_number() over (
            partition by judge_id, coalesce(is_as_good, false) order by costs_more_than_none, tokens, place
        ) = 1,
        false
    ) as is_cheapest,
    method_id
from ranked
order by judge, judge_id, place
