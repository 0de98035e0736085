-- Another judge: what changes when another judge scores the same answers?
--
-- One row per pair of judge versions × dimension, over the answers that both have scored; no rows while the store has
-- one judge. kappa says whether two judges agree on single answers, rank_correlation and the flips whether they agree
-- on methods: a judge may be stricter throughout (shift) and leave the order as it is. A flip is beyond noise when each
-- judge tells the two methods apart, in opposite directions. `backfill --judge` scores stored answers with another
-- judge.
--
-- Parameters:
--   judge   a judge that has to be one of the two, by name or the beginning of its id (default: all pairs)
--
-- Columns:
--   judge_from              the judge that was used first
--   judge_to                the judge that was used later
--   judge_id_from           its version
--   judge_id_to             its version
--   dimension               dimension of the rubric, or overall
--   n_methods               methods with answers that both have scored
--   n_answers               answers that both have scored
--   n_sessions              sessions that they are of
--   kappa                   quadratic-weighted kappa on whole points: 1 agreement, 0 chance; NULL where undefined
--   exact                   share of answers with the same whole point
--   within_one              share of answers at most one whole point apart
--   shift                   mean of later less first judge over all answers, in points
--   largest_shift           shift of the method whose mean changes most, in points
--   most_shifted            that method
--   rank_correlation        Spearman's rho of the two orders of methods; NULL where there is no order
--   n_flips                 pairs of methods whose order is reversed
--   n_flips_beyond_noise    pairs that each judge tells apart, in opposite directions
-- Means are rounded to 9 digits where they are ordered: the last ones depend on the order of a parallel sum.
with bridge as (
    select
        judge_bridge.*,
        rank() over from_order + (count(*) over from_ties - 1) / 2 as place_from,
        rank() over to_order + (count(*) over to_ties - 1) / 2 as place_to
    from judge_bridge
    where judge_is_wanted(judge_from, judge_id_from) or judge_is_wanted(judge_to, judge_id_to)
    window
        from_order as (partition by judge_id_from, judge_id_to, dimension order by round(mean_from, 9) desc),
        from_ties as (partition by judge_id_from, judge_id_to, dimension, round(mean_from, 9)),
        to_order as (partition by judge_id_from, judge_id_to, dimension order by round(mean_to, 9) desc),
        to_ties as (partition by judge_id_from, judge_id_to, dimension, round(mean_to, 9))
),

by_dimension as (
    select
        judge_id_from,
        judge_id_to,
        judge_from,
        judge_to,
        dimension,
        count(*) as n_methods,
        cast(sum(n_answers) as bigint) as n_answers,
        max(n_sessions) as n_sessions,
        sum(shift * n_answers) / sum(n_answers) as shift,
        arg_max(shift, (round(abs(shift), 9), method)) as largest_shift,
        arg_max(method, (round(abs(shift), 9), method)) as most_shifted,
        case when stddev_pop(place_from) > 0 and stddev_pop(place_to) > 0 then corr(place_from, place_to) end
            as rank_correlation,
        cast(sum(n_flips) / 2 as bigint) as n_flips,
        cast(sum(n_flips_beyond_noise) / 2 as bigint) as n_flips_beyond_noise
    from bridge
    group by judge_id_from, judge_id_to, judge_from, judge_to, dimension
)

select
    by_dimension.judge_from,
    by_dimension.judge_to,
    by_dimension.judge_id_from,
    by_dimension.judge_id_to,
    by_dimension.dimension,
    by_dimension.n_methods,
    by_dimension.n_answers,
    by_dimension.n_sessions,
    judge_agreement.kappa,
    judge_agreement.exact,
    judge_agreement.within_one,
    by_dimension.shift,
    by_dimension.largest_shift,
    by_dimension.most_shifted,
    by_dimension.rank_correlation,
    by_dimension.n_flips,
    by_dimension.n_flips_beyond_noise
from by_dimension
left join judge_agreement
    on
        judge_agreement.kind = 'judges'
        and judge_agreement.level <> 'criterion'
        and by_dimension.dimension = judge_agreement.item
        and least(by_dimension.judge_id_from, by_dimension.judge_id_to) = judge_agreement.rater_a
        and greatest(by_dimension.judge_id_from, by_dimension.judge_id_to) = judge_agreement.rater_b
order by
    by_dimension.judge_from asc,
    by_dimension.judge_to asc,
    by_dimension.judge_id_from asc,
    by_dimension.judge_id_to asc,
    by_dimension.dimension = 'overall' desc,
    by_dimension.dimension asc
