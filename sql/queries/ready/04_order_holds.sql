-- Order: does the order of the methods hold over task types, lengths, probe types, cycles and sources?
--
-- One row per judge × split × part of it, for overall and over the methods that the part has. rank_correlation is
-- Spearman's rho of the part's order with the order over all answers; the part is in the whole, so a part that is most
-- of the data agrees with it by itself. A flip is a pair of methods that stands the other way round in the part. Most
-- flips are noise: beyond noise are those of pairs that differ for sure over all (p_adjusted_in_dimension < 0.05) and,
-- the other way round, in the part (intervals that do not overlap, widened for the number of pairs by Bonferroni). The
-- order holds where there is none of these and the correlation is high; with few sessions there is nothing to see
-- either way. A method that is not applicable everywhere stands where its differences to the others on the same
-- questions place it, as on the leaderboard: not in a part where these are of fewer than five sessions, and in no flip
-- beyond noise, as that figure has no interval. The study says it holds over task types and over short and long
-- sessions.
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id (default: every judge, one after the other)
--   split   task_type, length, probe_type, cycle, source, resolved or exit_status (default: all)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge                   embedded (no language model) or the spec of a model
--   judge_id                judge version
--   split                   what the answers are split by
--   part                    value of the split
--   n_methods               methods with an answer in the part
--   n_sessions              sessions of the part
--   n_answers               answers in the part, of all methods
--   rank_correlation        Spearman's rho with the order over all, -1 to 1; NULL where there is no order
--   n_pairs                 pairs of methods
--   n_flips                 pairs that stand the other way round in the part
--   n_flips_beyond_noise    pairs that differ for sure, one way over all and the other way in the part
--   flips_beyond_noise      their names, the better one of the part first
-- Means are rounded to 9 digits where they are ordered: the last ones depend on the order of a parallel sum.
with parts as (
    select
        agg_splits.judge_id,
        agg_splits.method_id,
        agg_splits.split,
        agg_splits.value as part,
        round(agg_splits.mean_for_rank, 9) as mean,
        if(board.is_partial, null, agg_splits.std_error) * t_quantile(
            1 - 0.05 / greatest(2, count(*) over methods_of_part * (count(*) over methods_of_part - 1)), agg_splits.df
        ) as half_width,
        agg_splits.n_answers,
        agg_splits.n_sessions,
        board.judge,
        board.method,
        round(if(board.is_partial, board.overall_for_rank, board.overall), 9) as whole_mean
    from agg_splits
    inner join leaderboard as board on agg_splits.judge_id = board.judge_id and agg_splits.method_id = board.method_id
    where
        agg_splits.dimension = 'overall'
        and agg_splits.mean_for_rank is not null
        and judge_is_wanted(board.judge, board.judge_id)
        and version_is_wanted(board.is_current)
        and coalesce(agg_splits.split = getvariable('split'), true)
    window methods_of_part as (partition by agg_splits.judge_id, agg_splits.split, agg_splits.value)
),

ranked as (
    select
        parts.*,
        rank() over part_order + (count(*) over part_ties - 1) / 2 as part_rank,
        rank() over whole_order + (count(*) over whole_ties - 1) / 2 as whole_rank
    from parts
    window
        part_order as (partition by judge_id, split, part order by mean desc),
        part_ties as (partition by judge_id, split, part, mean),
        whole_order as (partition by judge_id, split, part order by whole_mean desc),
        whole_ties as (partition by judge_id, split, part, whole_mean)
),

orders as (
    select
        judge,
        judge_id,
        split,
        part,
        count(*) as n_methods,
        max(n_sessions) as n_sessions,
        cast(sum(n_answers) as bigint) as n_answers,
        case when stddev_pop(part_rank) > 0 and stddev_pop(whole_rank) > 0 then corr(part_rank, whole_rank) end
            as rank_correlation
    from ranked
    group by judge, judge_id, split, part
),

pairs as (
    select
        better.judge_id,
        better.split,
        better.part,
        better.method as better_method,
        worse.method as worse_method,
        better.whole_mean < worse.whole_mean as is_flip,
        better.mean - better.half_width > worse.mean + worse.half_width as is_sure_in_part,
        least(better.method, worse.method) as method_a,
        greatest(better.method, worse.method) as method_b
    from parts as better
    inner join parts as worse
        on
            better.judge_id = worse.judge_id
            and better.split = worse.split
            and better.part = worse.part
            and (better.mean, better.method) > (worse.mean, worse.method)
),

flips as (
    select
        pairs.judge_id,
        pairs.split,
        pairs.part,
        count(*) as n_pairs,
        count(*) filter (where pairs.is_flip) as n_flips,
        count(*) filter (where pairs.is_flip and pairs.is_sure_in_part and whole.p_adjusted_in_dimension < 0.05)
            as n_flips_beyond_noise,
        string_agg(
            pairs.better_method || ' over ' || pairs.worse_method, '; '
            order by pairs.better_method, pairs.worse_method
        )
        filter (where pairs.is_flip and pairs.is_sure_in_part and whole.p_adjusted_in_dimension < 0.05)
            as flips_beyond_noise
    from pairs
    left join paired_differences as whole
        on
            pairs.judge_id = whole.judge_id
            and pairs.method_a = whole.method_a
            and pairs.method_b = whole.method_b
            and whole.dimension = 'overall'
    group by pairs.judge_id, pairs.split, pairs.part
)

select
    orders.judge,
    orders.judge_id,
    orders.split,
    orders.part,
    orders.n_methods,
    orders.n_sessions,
    orders.n_answers,
    orders.rank_correlation,
    coalesce(flips.n_pairs, 0) as n_pairs,
    coalesce(flips.n_flips, 0) as n_flips,
    coalesce(flips.n_flips_beyond_noise, 0) as n_flips_beyond_noise,
    flips.flips_beyond_noise
from orders
left join flips
    on orders.judge_id = flips.judge_id and orders.split = flips.split and orders.part = flips.part
order by
    orders.judge,
    orders.judge_id,
    list_position(['task_type', 'length', 'probe_type', 'cycle', 'source', 'resolved', 'exit_status'], orders.split),
    orders.part
