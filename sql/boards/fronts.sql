-- One row per judge × current method with scored answers: whether another keeps as much for as little, and its line.
--
-- The order of the leaderboard, of its command and of the page: the methods on the front by what they keep, then the
-- rest by what they keep, the controls last. A method is on the front when no other keeps as much for less, or more at
-- no higher cost; dollars within 1 % are the same. A method that is not applicable everywhere beats none; in dollars
-- the control `none` beats what costs more than no compaction.
--
-- Cost is usd_per_session of `replay_cost` where all methods of the judge were replayed, else the tokens that a
-- question was answered from, and then the front is that of `pareto` (each pair on the questions that both have a score
-- for).
-- These are figures, not tests: methods beside the front are often not told apart from it.
create view fronts as
with priced as (
    select
        method_id,
        price_list,
        usd_per_session
    from replay_cost
    qualify dense_rank() over (order by price_list <> 'anthropic:claude-sonnet-5-5', price_list) = 1
),

ends as (
    select
        means.judge_id,
        any_value(means.overall_for_rank) filter (where stg_methods.strategy = 'none') as whole,
        any_value(means.overall_for_rank) filter (where stg_methods.strategy = 'empty') as nothing
    from agg_tie_groups as means
    inner join stg_methods on means.method_id = stg_methods.method_id
    group by means.judge_id
),

given as (
    select
        standing.judge_id,
        standing.method_id,
        standing.method,
        standing.place,
        standing.is_partial,
        stg_methods.is_control,
        standing.overall_for_rank,
        case
            when standing.is_partial
                then (standing.overall_for_rank - ends.nothing) / nullif(ends.whole - ends.nothing, 0)
            else retention.retention
        end as kept,
        priced.usd_per_session,
        priced.price_list,
        pareto.tokens_read,
        coalesce(pareto.on_frontier, false) as on_frontier
    from agg_tie_groups as standing
    inner join stg_methods on standing.method_id = stg_methods.method_id
    inner join ends on standing.judge_id = ends.judge_id
    left join retention
        on
            standing.judge_id = retention.judge_id
            and standing.method = retention.method
            and retention.dimension = 'overall'
    left join priced on standing.method_id = priced.method_id
    left join pareto on standing.judge_id = pareto.judge_id and standing.method_id = pareto.method_id
),

-- Rounded, so that the order of summation never decides between methods that are equal.
compared as materialized (
    select
        *,
        round(
            case when bool_and(kept is not null) over of_judge then kept else overall_for_rank end, 9
        ) as quality,
        bool_and(usd_per_session is not null) over of_judge as is_replayed
    from given
    window of_judge as (partition by judge_id)
),

beaten as (
    select distinct
        own.judge_id,
        own.method_id
    from compared as own
    inner join compared as other
        on
            own.judge_id = other.judge_id
            and own.quality <= other.quality
            and round(1.01 * own.usd_per_session, 9) >= round(other.usd_per_session, 9)
            and (own.quality < other.quality or round(own.usd_per_session, 9) > round(other.usd_per_session, 9))
    where not other.is_partial
),

placed as (
    select
        compared.*,
        not compared.is_control and compared.quality is not null
        and case when compared.is_replayed then beaten.method_id is null else compared.on_frontier end as on_front
    from compared
    left join beaten on compared.judge_id = beaten.judge_id and compared.method_id = beaten.method_id
)

select
    judge_id,
    method,
    kept,  -- Retention of overall; of a method that is not applicable everywhere that of overall_for_rank, so over the
    -- same questions as the others; NULL without the controls
    case when is_replayed then usd_per_session else tokens_read end as cost,  -- US dollars of a session, else tokens
    -- that a question was answered from, of a method that is not applicable everywhere over its own questions
    case when is_replayed then price_list else 'tokens' end as cost_in,  -- Price list of the dollars (the one that
    -- `recommend` takes, else the first by name), or tokens
    on_front,  -- Whether no other keeps as much for less, or more at no higher cost; false for controls
    cast(row_number() over (
        partition by judge_id order by is_control asc, on_front desc, quality desc nulls last, place asc
    ) as bigint) as line,  -- Line on the leaderboard: the front, the rest, the controls, each by kept
    method_id
from placed
order by judge_id, line;
