-- One row per judge × current method with scored answers: what it is ranked by, its rank, and its tie group.
--
-- A method that is not applicable at some points (`recorded`, where the agent had not compacted yet) has its figures
-- over other questions than the rest by nature. Such a partial method is ranked by overall_for_rank: the mean, over the
-- methods that apply everywhere, of their overall plus its paired difference to them (same probes). It has no rank when
-- it shares no probe with any of them. Where no method applies everywhere, all are ranked by overall.
--
-- tie_group: go down the methods by rank (equal ones by name). The first opens group 1. The next joins the open group
-- unless its paired difference of overall to that group's first method is distinguishable from 0 (same probes,
-- clustered by session, Student's t), in which case it opens the next group. Distinguishable is a p-value below 0.05
-- after Holm's correction over all pairs of the judge's methods (p_adjusted_in_dimension of `paired_differences`,
-- dimension overall): among methods that are all equally good, at most 5 % of leaderboards show more than one group.
-- With a single session, or without a probe in common, nothing is distinguishable. A partial method opens no group,
-- because few questions tell little apart: it joins the group that is open at its place (at the top the first), or has
-- none when it can be told from that group's first method.
create view agg_tie_groups as
with recursive overall_means as (
    select
        scored.judge_id,
        scored.method_id,
        avg(scored.score) as overall
    from int_answer_scores as scored
    inner join methods on scored.method_id = methods.method_id
    where scored.dimension = 'overall' and methods.is_current
    group by scored.judge_id, scored.method_id
),

tested as (
    select
        agg_method_pairs.judge_id,
        agg_method_pairs.method_id_a as method_id,
        agg_method_pairs.method_id_b as other_id,
        agg_method_pairs.difference,
        agg_method_pairs.p_value
    from agg_method_pairs
    inner join methods as a on agg_method_pairs.method_id_a = a.method_id
    inner join methods as b on agg_method_pairs.method_id_b = b.method_id
    where agg_method_pairs.dimension = 'overall' and a.is_current and b.is_current
),

paired as materialized (
    select
        judge_id,
        method_id,
        other_id,
        difference,
        coalesce(p_adjusted < 0.05, false) as is_distinguishable
    from holm_adjusted(tested, judge_id)
),

both_ways as (
    select * from paired
    union all
    select
        judge_id,
        other_id as method_id,
        method_id as other_id,
        -difference as difference,
        is_distinguishable
    from paired
),

kinds as (
    select
        overall_means.judge_id,
        overall_means.method_id,
        overall_means.overall,
        stg_methods.method,
        partial_methods.method_id is not null
        and bool_or(partial_methods.method_id is null) over (partition by overall_means.judge_id) as is_partial
    from overall_means
    inner join stg_methods on overall_means.method_id = stg_methods.method_id
    left join (
        select distinct method_id
        from compactions
        where status = 'not_applicable'
    ) as partial_methods on stg_methods.method_id = partial_methods.method_id
),

by_difference as (
    select
        both_ways.judge_id,
        both_ways.method_id,
        avg(kinds.overall + both_ways.difference) as overall
    from both_ways
    inner join kinds on both_ways.judge_id = kinds.judge_id and both_ways.other_id = kinds.method_id
    where not kinds.is_partial
    group by both_ways.judge_id, both_ways.method_id
),

-- Rounded, so that the order of summation never decides between methods that are equal.
comparable as materialized (
    select
        kinds.judge_id,
        kinds.method_id,
        kinds.method,
        kinds.is_partial,
        round(case when kinds.is_partial then by_difference.overall else kinds.overall end, 9) as overall
    from kinds
    left join by_difference on kinds.judge_id = by_difference.judge_id and kinds.method_id = by_difference.method_id
),

placed as materialized (
    select
        judge_id,
        method_id,
        is_partial,
        overall,
        rank() over (partition by judge_id order by overall desc) as rank,
        row_number() over (partition by judge_id order by overall desc, method asc, method_id asc) as place,
        row_number() over (
            partition by judge_id, is_partial order by overall desc, method asc, method_id asc
        ) as step
    from comparable
    where overall is not null
),

walk as (
    select
        judge_id,
        step,
        method_id,
        method_id as first_id,
        1 as tie_group
    from placed
    where step = 1 and not is_partial
    union all
    select
        walk.judge_id,
        placed.step,
        placed.method_id,
        case when coalesce(both_ways.is_distinguishable, false) then placed.method_id else walk.first_id end
            as first_id,
        walk.tie_group + cast(coalesce(both_ways.is_distinguishable, false) as integer) as tie_group
    from walk
    inner join placed
        on walk.judge_id = placed.judge_id and walk.step + 1 = placed.step and not placed.is_partial
    left join both_ways
        on
            walk.judge_id = both_ways.judge_id
            and walk.first_id = both_ways.method_id
            and placed.method_id = both_ways.other_id
),

open_at_place as (
    select
        partial.judge_id,
        partial.method_id,
        greatest(1, max(placed.step) filter (where placed.place < partial.place)) as step
    from placed as partial
    inner join placed on partial.judge_id = placed.judge_id and not placed.is_partial
    where partial.is_partial
    group by partial.judge_id, partial.method_id
),

grouped as (
    select
        judge_id,
        method_id,
        tie_group
    from walk
    union all
    select
        open_at_place.judge_id,
        open_at_place.method_id,
        walk.tie_group
    from open_at_place
    inner join walk on open_at_place.judge_id = walk.judge_id and open_at_place.step = walk.step
    left join both_ways
        on
            walk.judge_id = both_ways.judge_id
            and walk.first_id = both_ways.method_id
            and open_at_place.method_id = both_ways.other_id
    where not coalesce(both_ways.is_distinguishable, false)
)

select
    comparable.judge_id,
    comparable.method_id,
    comparable.is_partial,  -- Whether it is not applicable at some points, where other methods are
    comparable.overall as overall_for_rank,  -- Overall; of a partial method what its paired differences to the others
    -- come to, 0 to 5; NULL: nothing to compare
    placed.rank,  -- By overall_for_rank within the judge; equal ones share a rank
    placed.place,  -- The same, equal ones by name: no two share a place
    grouped.tie_group  -- Methods not told apart from the first of their group share its number
from comparable
left join placed on comparable.judge_id = placed.judge_id and comparable.method_id = placed.method_id
left join grouped on comparable.judge_id = grouped.judge_id and comparable.method_id = grouped.method_id;
