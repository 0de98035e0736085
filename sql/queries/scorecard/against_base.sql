-- One row per judge version × method (by name) that two stores have: overall here less overall in the base store.
--
-- It reads `head_means` and `base_means`, the rows of `probe_means` of the two. Paired on the probe: the same question
-- about the same history, judged by the same version of the judge, whatever the method's version was. The interval is
-- clustered as in the store here, p_adjusted is Holm's over the judge's methods.
with per_cluster as (
    select
        head.judge_id,
        head.method,
        sum(head.overall - base.overall) as total,
        count(*) as n,
        count(distinct head.session_id) as n_sessions
    from head_means as head
    inner join base_means as base
        on head.judge_id = base.judge_id and head.method = base.method and head.probe_id = base.probe_id
    group by head.judge_id, head.method, head.cluster
),

figures as (
    select
        judge_id,
        method,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(total), list(n)) as difference
    from per_cluster
    group by judge_id, method
),

tested as (
    select
        *,
        t_test_of(difference) as p_value
    from figures
)

select
    judge_id,
    method,
    difference.mean as difference,
    difference.std_error,
    ci_low(difference) as ci_low,
    ci_high(difference) as ci_high,
    p_value,
    p_adjusted,
    difference.n as n_pairs,
    n_sessions
from holm_adjusted(tested, judge_id)
order by judge_id, method
