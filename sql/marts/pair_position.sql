-- One row per judge in pairs: how far it favours the answer that it is shown first.
--
-- Of comparisons that were asked, in questions with both orders: each answer was first as often as second there, and
-- without a bias the one shown first wins half of the time. The interval is clustered.
create view pair_position as
with asked as (
    select
        *,
        if(first = 'a', won_by_a, 1 - won_by_a) as won_by_first
    from int_comparisons
    where not is_same
    qualify count(*) over (partition by judge_id, method_a, method_b, probe_id) = 2
),

by_cluster as (
    select
        judge_id,
        judge,
        cluster,
        sum(won_by_first) as won,
        count(*) as n,
        count(*) filter (where won_by_first = 1) as n_first,
        count(*) filter (where won_by_first = 0) as n_second
    from asked
    group by judge_id, judge, cluster
),

figures as (
    select
        judge_id,
        judge,
        cluster_figures(list(won order by n, won), list(n order by n, won)) as share,
        sum(n_first) as n_first,
        sum(n_second) as n_second
    from by_cluster
    group by judge_id, judge
)

select
    judge_id,  -- Version of the judge in pairs
    judge,  -- Name of the model that judged
    share.mean as share_first,  -- Share (0 to 1) of comparisons that the answer shown first wins, ties half
    share.std_error,  -- Standard error of share_first, clustered; NULL with a single cluster
    ci_low(share) as ci_low,  -- Lower end of the 95 % interval of share_first
    ci_high(share) as ci_high,  -- Upper end of the 95 % interval of share_first
    t_test(share.mean - 0.5, share.std_error, share.df) as p_value,  -- Two-sided, that the position does not matter
    share.n as n_comparisons,  -- Comparisons
    cast(n_first as bigint) as n_first,  -- Comparisons that the answer shown first wins
    cast(n_second as bigint) as n_second,  -- Comparisons that the answer shown second wins
    share.n_clusters
from figures
order by judge_id;
