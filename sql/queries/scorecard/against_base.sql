-- One row per judge version × method (by name) that two stores have: overall here less overall in the base store.
--
-- It reads `head_means` and `base_means`, the rows of `probe_means` of the two. Paired on the probe: the same question
-- about the same history, judged by the same version of the judge, whatever the method's version was. The interval is
-- clustered by session, p_adjusted is Holm's over the judge's methods.
with per_session as (
    select
        head.judge_id,
        head.method,
        head.session_id,
        sum(head.overall - base.overall) as total,
        count(*) as n
    from head_means as head
    inner join base_means as base
        on head.judge_id = base.judge_id and head.method = base.method and head.probe_id = base.probe_id
    group by head.judge_id, head.method, head.session_id
),

figures as (
    select
        judge_id,
        method,
        cluster_figures(list(total), list(n)) as figure
    from per_session
    group by judge_id, method
),

tested as (
    select
        judge_id,
        method,
        figure.mean as difference,
        figure.std_error,
        figure.n as n_pairs,
        figure.n_clusters as n_sessions,
        t_quantile(0.975, figure.df) as quantile,
        t_test(figure.mean, figure.std_error, figure.df) as p_value
    from figures
),

placed as (
    select
        *,
        p_step(p_value, judge_id) as step
    from tested
)

select
    judge_id,
    method,
    difference,
    std_error,
    difference - quantile * std_error as ci_low,
    difference + quantile * std_error as ci_high,
    p_value,
    holm(p_value, step, judge_id) as p_adjusted,
    n_pairs,
    n_sessions
from placed
order by judge_id, method
