-- One row per judge × current method with scored answers: its mean on shared probes, what it is ranked by, its rank,
-- and its tie group.
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
--
-- Methods are not joined probe by probe, which would take most of the time, but set by set of probes that the same
-- methods have a score for: within such a set the difference of two methods is that of their sums.
create view agg_tie_groups as
with recursive current_scores as materialized (
    select int_probe_dimensions.*
    from int_probe_dimensions
    inner join methods on int_probe_dimensions.method_number = methods.rowid
    where methods.is_current and int_probe_dimensions.n_overall > 0
),

presence as (
    select
        judge_id,
        session_number,
        probe_number,
        list_sort(list(method_number)) as pattern
    from current_scores
    group by judge_id, session_number, probe_number
),

cells as (
    select
        judge_id,
        probe_number,
        len(pattern) as n_methods,
        min(probe_number) over (partition by judge_id, session_number, pattern) as cell
    from presence
),

sums as materialized (
    select
        current_scores.judge_id,
        current_scores.session_number,
        current_scores.method_number,
        cells.cell,
        any_value(cells.n_methods) as n_methods,
        count(*) as n_probes,
        sum(current_scores.overall / current_scores.n_overall) as overall_sum
    from current_scores
    inner join cells on current_scores.judge_id = cells.judge_id and current_scores.probe_number = cells.probe_number
    group by current_scores.judge_id, current_scores.session_number, current_scores.method_number, cells.cell
),

on_shared_probes as (
    select
        judge_id,
        method_number,
        sum(overall_sum) / sum(n_probes) as overall_on_shared_probes,
        cast(sum(n_probes) as bigint) as n_shared_probes
    from (
        select
            *,
            count(distinct method_number) over (partition by judge_id) as n_scored_methods
        from sums
    ) as of_judge
    where n_methods = n_scored_methods
    group by judge_id, method_number
),

session_sums as (
    select
        a.judge_id,
        a.method_number as number_a,
        b.method_number as number_b,
        sum(a.overall_sum - b.overall_sum) as difference_sum,
        sum(a.n_probes) as n_pairs
    from sums as a
    inner join sums as b on a.judge_id = b.judge_id and a.cell = b.cell and a.method_number < b.method_number
    group by a.judge_id, a.method_number, b.method_number, a.session_number
),

overall_figures as (
    select
        judge_id,
        number_a,
        number_b,
        cluster_figures(list(difference_sum), list(n_pairs)) as paired
    from session_sums
    group by judge_id, number_a, number_b
),

tested as (
    select
        overall_figures.judge_id,
        a.method_id,
        b.method_id as other_id,
        overall_figures.paired.mean as difference,
        t_test(overall_figures.paired.mean, overall_figures.paired.std_error, overall_figures.paired.df) as p_value
    from overall_figures
    inner join methods as a on overall_figures.number_a = a.rowid
    inner join methods as b on overall_figures.number_b = b.rowid
),

stepped as (
    select
        *,
        p_step(p_value, judge_id) as step
    from tested
),

paired as materialized (
    select
        judge_id,
        method_id,
        other_id,
        difference,
        coalesce(holm(p_value, step, judge_id) < 0.05, false) as is_distinguishable
    from stepped
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

overall_means as (
    select
        judge_id,
        method_number,
        sum(overall) / sum(n_overall) as overall
    from current_scores
    group by judge_id, method_number
),

kinds as (
    select
        overall_means.judge_id,
        stg_methods.method_id,
        overall_means.method_number,
        overall_means.overall,
        stg_methods.method,
        partial_methods.method_id is not null
        and bool_or(partial_methods.method_id is null) over (partition by overall_means.judge_id) as is_partial
    from overall_means
    inner join methods on overall_means.method_number = methods.rowid
    inner join stg_methods on methods.method_id = stg_methods.method_id
    left join (
        select distinct method_id
        from compactions
        where status = 'not_applicable'
    ) as partial_methods on methods.method_id = partial_methods.method_id
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
        kinds.method_number,
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
    comparable.is_partial,
    comparable.overall as overall_for_rank,
    placed.rank,
    placed.place,
    grouped.tie_group,
    on_shared_probes.overall_on_shared_probes,
    coalesce(on_shared_probes.n_shared_probes, 0) as n_shared_probes
from comparable
left join placed on comparable.judge_id = placed.judge_id and comparable.method_id = placed.method_id
left join grouped on comparable.judge_id = grouped.judge_id and comparable.method_id = grouped.method_id
left join on_shared_probes
    on comparable.judge_id = on_shared_probes.judge_id and comparable.method_number = on_shared_probes.method_number;

comment on column agg_tie_groups.judge_id is 'Judge version';
comment on column agg_tie_groups.method_id is 'Identity of the method';
comment on column agg_tie_groups.is_partial is 'Whether it is not applicable at some points, where other methods are';
comment on column agg_tie_groups.overall_for_rank is
'Overall; of a partial method what its paired differences to the others come to, 0 to 5; NULL: nothing to compare';
comment on column agg_tie_groups.rank is 'By overall_for_rank within the judge; equal ones share a rank';
comment on column agg_tie_groups.place is 'The same, equal ones by name: no two share a place';
comment on column agg_tie_groups.tie_group is 'Methods not told apart from the first of their group share its number';
comment on column agg_tie_groups.overall_on_shared_probes is
'Mean over the probes that every method of the judge has a score for, 0 to 5';
comment on column agg_tie_groups.n_shared_probes is 'Probes that every method of the judge has a score for';
