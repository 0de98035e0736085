-- The sums of `night_sums` up to a night give the means and counts that `night_figures` has of that night.
with changes as (
    select
        night,
        judge_id,
        method,
        dimension,
        score_sum - lag(score_sum, 1, 0) over of_session as score_change,
        n_answers - lag(n_answers, 1, 0) over of_session as n_change
    from night_sums
    window of_session as (partition by judge_id, method, dimension, session_id order by night)
),

per_night as (
    select
        night,
        judge_id,
        method,
        dimension,
        sum(score_change) as score_change,
        sum(n_change) as n_change
    from changes
    group by night, judge_id, method, dimension
),

-- The last sums at or before each night that has figures.
totals as (
    select
        night,
        judge_id,
        method,
        dimension,
        sum(score_change) over so_far as score_sum,
        cast(sum(n_change) over so_far as bigint) as n_answers
    from per_night
    window so_far as (partition by judge_id, method, dimension order by night)
)

select
    night_figures.night,
    night_figures.judge_id,
    night_figures.method,
    night_figures.dimension,
    night_figures.mean,
    totals.score_sum,
    totals.n_answers
from night_figures
asof left join totals
    on
        night_figures.judge_id = totals.judge_id
        and night_figures.method = totals.method
        and night_figures.dimension = totals.dimension
        and night_figures.night >= totals.night
where
    totals.n_answers is distinct from night_figures.n_answers
    or abs(totals.score_sum / totals.n_answers - night_figures.mean) > 1e-6
