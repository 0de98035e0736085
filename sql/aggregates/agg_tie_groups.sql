-- One row per judge × current method with scored answers: what it is ranked by, its rank, and its groups.
--
-- A method that is not applicable at some points (`recorded`, where the agent had not compacted yet) has its figures
-- over other questions than the rest by nature. Such a partial method is ranked by overall_for_rank: the mean, over the
-- methods that apply everywhere, of their overall plus its paired difference to them (same probes). It has no rank when
-- it shares no probe with any of them. Where no method applies everywhere, all are ranked by overall. The controls
-- stand near an end of the scale however hard the questions are. They count only where no other method shares a probe.
--
-- The controls (none, empty) have neither rank nor letter: they are no method to choose. With one session there are
-- none at all, because it cannot say how sessions differ.
--
-- tie_group: letters, each of a run of methods beside each other by place, as long as can be, of which no two are
-- told apart. So two methods with a letter in common are not told apart, and a method can have several, which follow
-- each other: ab, and b-e for b, c, d and e. Told apart is a paired difference of overall (same probes, clustered by
-- session, Student's t) with a p-value below 0.05 after Holm's correction over all pairs of the judge's methods
-- (p_adjusted_in_dimension of `paired_differences`, dimension overall): among methods that are all equally good, at
-- most 5 % of leaderboards show more than one letter. Without a probe in common nothing is told apart.
--
-- Two methods without a letter in common need not be told apart: one that varies much between sessions can be told from
-- none, and stand between two that are. Letters that say this, too (Piepho 2004), are one for each largest set of
-- methods of which no two are told apart, wherever they stand: 61 letters for 52 methods on real sessions.
create view agg_tie_groups as
with overall_means as (
    select
        scored.judge_id,
        scored.method_id,
        avg(scored.score) as overall,
        count(distinct scored.session_id) as n_sessions
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
        stg_methods.is_control,
        max(overall_means.n_sessions) over (partition by overall_means.judge_id) > 1 as has_sessions,
        partial_methods.method_id is not null as is_partial
    from overall_means
    inner join stg_methods on overall_means.method_id = stg_methods.method_id
    left join int_partial_methods as partial_methods
        on overall_means.judge_id = partial_methods.judge_id and overall_means.method_id = partial_methods.method_id
),

by_difference as (
    select
        both_ways.judge_id,
        both_ways.method_id,
        coalesce(
            avg(kinds.overall + both_ways.difference) filter (where not kinds.is_control),
            avg(kinds.overall + both_ways.difference)
        ) as overall
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
        kinds.is_control,
        kinds.has_sessions,
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
        not is_control and has_sessions and overall is not null as is_ranked,
        case
            when is_ranked then rank() over (partition by judge_id, is_ranked order by overall desc)
        end as rank,
        row_number() over (
            partition by judge_id order by is_control asc, overall desc nulls last, method asc, method_id asc
        ) as place
    from comparable
),

told as (
    select
        a.judge_id,
        a.place,
        min(b.place) as place_told
    from both_ways
    inner join placed as a on both_ways.judge_id = a.judge_id and both_ways.method_id = a.method_id
    inner join placed as b on both_ways.judge_id = b.judge_id and both_ways.other_id = b.method_id
    where both_ways.is_distinguishable and a.is_ranked and b.is_ranked and a.place < b.place
    group by a.judge_id, a.place
),

-- How far a run reaches that begins at a place: until one of its methods is told apart from a later one.
reaches as (
    select
        placed.judge_id,
        placed.place,
        coalesce(
            min(told.place_told) over (partition by placed.judge_id order by placed.place desc) - 1,
            max(placed.place) over (partition by placed.judge_id)
        ) as last_place
    from placed
    left join told on placed.judge_id = told.judge_id and placed.place = told.place
    where placed.is_ranked
),

longest as (
    select
        judge_id,
        place,
        last_place,
        row_number() over (partition by judge_id order by place) as number
    from (
        select * from reaches
        qualify last_place > coalesce(lag(last_place) over (partition by judge_id order by place), 0)
    ) as reaching_farther
),

letters as (
    select
        placed.judge_id,
        placed.method_id,
        letter(min(longest.number)) || case count(*)
            when 1 then ''
            when 2 then letter(max(longest.number))
            else '-' || letter(max(longest.number))
        end as tie_group
    from placed
    inner join longest
        on placed.judge_id = longest.judge_id and placed.place between longest.place and longest.last_place
    where placed.is_ranked
    group by placed.judge_id, placed.method_id
)

select
    placed.judge_id,
    placed.method_id,
    (select m.method from stg_methods as m where m.method_id = placed.method_id) as method,
    placed.is_partial,  -- Whether it is not applicable at some points, where other methods are
    placed.overall as overall_for_rank,  -- Overall; of a partial method what its paired differences to the others come
    -- to, 0 to 5; NULL: nothing to compare
    placed.rank,  -- By overall_for_rank within the judge; equal ones share a rank; NULL for controls and with one
    -- session
    placed.place,  -- The same with every method, equal ones by name, controls last: no two share a place
    letters.tie_group  -- Letters: methods with one in common are not told apart; NULL without a rank
from placed
left join letters on placed.judge_id = letters.judge_id and placed.method_id = letters.method_id;
