-- One row per judge in pairs × pair of methods: how often which one has the better answer.
--
-- A question counts once, with the mean of its two orders, and only where both have a verdict. The interval is
-- clustered.
create view pair_results as
with questions as (
    select
        judge_id,
        judge,
        method_a,
        method_b,
        cluster,
        session_id,
        probe_id,
        avg(won_by_a) as won_by_a,
        min(outcome) = max(outcome) as agrees,
        bool_and(is_same) as is_same
    from int_comparisons
    group by judge_id, judge, method_a, method_b, cluster, session_id, probe_id
    having count(distinct first) = 2
),

by_cluster as (
    select
        judge_id,
        judge,
        method_a,
        method_b,
        sum(won_by_a) as won,
        count(*) as n,
        count(*) filter (where won_by_a > 0.5) as n_a,
        count(*) filter (where won_by_a = 0.5) as n_ties,
        count(*) filter (where won_by_a < 0.5) as n_b,
        count(*) filter (where is_same) as n_same,
        count(*) filter (where agrees) as n_agreeing,
        count(distinct session_id) as n_sessions
    from questions
    group by judge_id, judge, method_a, method_b, cluster
),

figures as (
    select
        judge_id,
        judge,
        method_a,
        method_b,
        cluster_figures(list(won order by n, won), list(n order by n, won)) as share,
        sum(n_a) as n_a,
        sum(n_ties) as n_ties,
        sum(n_b) as n_b,
        sum(n_same) as n_same,
        sum(n_agreeing) as n_agreeing,
        sum(n_sessions) as n_sessions
    from by_cluster
    group by judge_id, judge, method_a, method_b
)

select
    judge_id,  -- Version of the judge in pairs
    judge,  -- Name of the model that judged
    method_a,  -- The method that comes first in the alphabet
    method_b,  -- The other
    share.mean as share_a,  -- Share (0 to 1) of questions that method_a wins, ties half; 0.5 where neither is better
    share.std_error,  -- Standard error of share_a, clustered; NULL with a single cluster
    ci_low(share) as ci_low,  -- Lower end of the 95 % interval of share_a
    ci_high(share) as ci_high,  -- Upper end of the 95 % interval of share_a
    t_test(share.mean - 0.5, share.std_error, share.df) as p_value,  -- Two-sided, that neither is better
    share.n as n_questions,  -- Questions with both orders
    cast(n_a as bigint) as n_a,  -- Of them, those that method_a wins over both orders
    cast(n_ties as bigint) as n_ties,  -- Of them, ties over both orders
    cast(n_b as bigint) as n_b,  -- Of them, those that method_b wins over both orders
    cast(n_same as bigint) as n_same,  -- Of the ties, those with one text as both answers
    cast(n_agreeing as bigint) as n_agreeing,  -- Questions of which both orders have the same verdict
    cast(n_sessions as bigint) as n_sessions,  -- Sessions of these questions
    share.n_clusters
from figures
order by judge_id, method_a, method_b;
