-- One row per pair of judges (from: the one that was used first) × method × dimension (and 'overall').
--
-- What a method's figure becomes when one judge takes the place of the other, on the answers that both have scored: so
-- nothing but the judge differs. The interval of the shift is clustered.
--
-- A flip is a pair of methods whose order by mean under one judge is reversed under the other; equal means are no
-- order. It is beyond noise when each judge by itself tells the two methods apart, at 95 %, in opposite directions:
-- differences paired on the same probe, clustered, one comparison at a time.
--
-- Of current methods only: those that the newest run of the study asks for.
create view judge_bridge as
with probes_scored as materialized (
    select
        agg_bridge_probes.*,
        stg_clusters.cluster
    from agg_bridge_probes
    inner join stg_clusters on agg_bridge_probes.session_id = stg_clusters.session_id
),

by_cluster as (
    select
        judge_id_from,
        judge_id_to,
        method_id,
        dimension,
        cast(sum(n_answers) as bigint) as n_answers,
        sum(sum_from) as sum_from,
        sum(sum_to) as sum_to,
        count(distinct session_id) as n_sessions
    from probes_scored
    group by judge_id_from, judge_id_to, method_id, dimension, cluster
),

figures as (
    select
        judge_id_from,
        judge_id_to,
        method_id,
        dimension,
        round(sum(sum_from) / sum(n_answers), 9) as mean_from,
        round(sum(sum_to) / sum(n_answers), 9) as mean_to,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(sum_to - sum_from), list(n_answers)) as shift
    from by_cluster
    group by judge_id_from, judge_id_to, method_id, dimension
),

placed as materialized (
    select
        *,
        rank() over (partition by judge_id_from, judge_id_to, dimension order by mean_from desc) as rank_from,
        rank() over (partition by judge_id_from, judge_id_to, dimension order by mean_to desc) as rank_to
    from figures
),

-- a is better under the first judge, b under the second.
flips as materialized (
    select
        a.judge_id_from,
        a.judge_id_to,
        a.dimension,
        a.method_id as method_id_a,
        b.method_id as method_id_b
    from placed as a
    inner join placed as b
        on
            a.judge_id_from = b.judge_id_from
            and a.judge_id_to = b.judge_id_to
            and a.dimension = b.dimension
            and a.mean_from > b.mean_from
            and a.mean_to < b.mean_to
),

flip_clusters as (
    select
        flips.judge_id_from,
        flips.judge_id_to,
        flips.dimension,
        flips.method_id_a,
        flips.method_id_b,
        count(*) as n_pairs,
        sum(a.sum_from / a.n_answers - b.sum_from / b.n_answers) as difference_from,
        sum(a.sum_to / a.n_answers - b.sum_to / b.n_answers) as difference_to
    from flips
    inner join probes_scored as a
        on
            flips.judge_id_from = a.judge_id_from
            and flips.judge_id_to = a.judge_id_to
            and flips.dimension = a.dimension
            and flips.method_id_a = a.method_id
    inner join probes_scored as b
        on
            flips.judge_id_from = b.judge_id_from
            and flips.judge_id_to = b.judge_id_to
            and flips.dimension = b.dimension
            and flips.method_id_b = b.method_id
            and a.probe_id = b.probe_id
    group by
        flips.judge_id_from, flips.judge_id_to, flips.dimension, flips.method_id_a, flips.method_id_b, a.cluster
),

flip_figures as (
    select
        judge_id_from,
        judge_id_to,
        dimension,
        method_id_a,
        method_id_b,
        cluster_figures(list(difference_from), list(n_pairs)) as first_judge,
        cluster_figures(list(difference_to), list(n_pairs)) as second_judge
    from flip_clusters
    group by judge_id_from, judge_id_to, dimension, method_id_a, method_id_b
),

real_flips as (
    select
        judge_id_from,
        judge_id_to,
        dimension,
        method_id_a,
        method_id_b
    from flip_figures
    where ci_low(first_judge) > 1e-9 and ci_high(second_judge) < -1e-9
),

both_ways as (
    select
        flips.judge_id_from,
        flips.judge_id_to,
        flips.dimension,
        unnest([flips.method_id_a, flips.method_id_b]) as method_id,
        unnest([flips.method_id_b, flips.method_id_a]) as other_id,
        real_flips.method_id_a is not null as is_real
    from flips
    left join real_flips using (judge_id_from, judge_id_to, dimension, method_id_a, method_id_b)
),

flipped as (
    select
        both_ways.judge_id_from,
        both_ways.judge_id_to,
        both_ways.dimension,
        both_ways.method_id,
        count(*) as n_flips,
        list(others.method order by others.method) as flipped_with,
        count(*) filter (where both_ways.is_real) as n_flips_beyond_noise,
        list(others.method order by others.method) filter (where both_ways.is_real) as flipped_beyond_noise_with
    from both_ways
    inner join stg_methods as others on both_ways.other_id = others.method_id
    group by both_ways.judge_id_from, both_ways.judge_id_to, both_ways.dimension, both_ways.method_id
)

select
    placed.judge_id_from,
    placed.judge_id_to,
    judge_from.judge as judge_from,  -- Name of the first judge
    judge_to.judge as judge_to,  -- Name of the second judge
    stg_methods.method,
    placed.dimension,
    placed.mean_from,  -- Mean by the first judge, 0 to 5, over the answers that both have scored
    placed.mean_to,  -- Mean by the second judge, 0 to 5, over the same answers
    placed.shift.mean as shift,  -- mean_to - mean_from, in points
    placed.shift.std_error,  -- Standard error of the shift, clustered; NULL with a single cluster
    ci_low(placed.shift) as ci_low,  -- Lower end of the 95 % interval of the shift
    ci_high(placed.shift) as ci_high,  -- Upper end of the 95 % interval of the shift
    placed.shift.n as n_answers,  -- Answers of the method that both judges have scored on the dimension
    placed.n_sessions,  -- Sessions that these answers are of
    placed.rank_from,  -- Place of the method by mean_from; equal means share a place
    placed.rank_to,  -- Place of the method by mean_to; equal means share a place
    coalesce(flipped.n_flips, 0) as n_flips,  -- Methods whose order against this one is reversed by the change of judge
    coalesce(flipped.flipped_with, []) as flipped_with,  -- Names of these methods
    coalesce(flipped.n_flips_beyond_noise, 0) as n_flips_beyond_noise,  -- Of these, methods that each judge tells from
    -- this one at 95 %, in opposite directions
    coalesce(flipped.flipped_beyond_noise_with, []) as flipped_beyond_noise_with,  -- Names of the methods of
    -- n_flips_beyond_noise
    placed.method_id,
    placed.shift.n_clusters
from placed
left join flipped using (judge_id_from, judge_id_to, dimension, method_id)
inner join stg_methods on placed.method_id = stg_methods.method_id
inner join judges as judge_from on placed.judge_id_from = judge_from.judge_id
inner join judges as judge_to on placed.judge_id_to = judge_to.judge_id
order by
    placed.judge_id_from, placed.judge_id_to, placed.dimension <> 'overall', placed.dimension, placed.rank_from,
    stg_methods.method;
