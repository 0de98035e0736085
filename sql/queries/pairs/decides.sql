-- One row per pair of methods: in which share of the questions one of them scores higher, and how many questions would
-- tell such a share from one half (95 %, in 80 % of cases) in such sessions.
--
-- By the judge in the store with the most scores. Where the sessions do not say how they differ, a question counts as
-- the toss of a coin.
--
-- Parameters (variables):
--   methods   names of the methods
with chosen as (
    select
        judge_id,
        any_value(judge) as judge
    from leaderboard
    group by judge_id
    order by sum(n_answers) desc, judge_id asc
    limit 1
),

scored as (
    select
        int_answer_scores.session_id,
        int_answer_scores.probe_id,
        int_answer_scores.method,
        avg(int_answer_scores.score) as score
    from int_answer_scores
    inner join chosen on int_answer_scores.judge_id = chosen.judge_id
    where
        int_answer_scores.dimension = 'overall'
        and list_contains(getvariable('methods'), int_answer_scores.method)
    group by int_answer_scores.session_id, int_answer_scores.probe_id, int_answer_scores.method
),

by_cluster as (
    select
        a.method as method_a,
        b.method as method_b,
        stg_clusters.cluster,
        sum(case when a.score > b.score + 1e-9 then 1.0 when a.score < b.score - 1e-9 then 0.0 else 0.5 end) as won,
        count(*) as n
    from scored as a
    inner join scored as b on a.probe_id = b.probe_id and a.method < b.method
    inner join stg_clusters on a.session_id = stg_clusters.session_id
    group by a.method, b.method, stg_clusters.cluster
),

figures as (
    select
        method_a,
        method_b,
        cluster_figures(list(won), list(n)) as share
    from by_cluster
    group by method_a, method_b
),

spreads as (
    select
        method_a,
        method_b,
        share.mean as share_a,
        share.n as n_questions,
        coalesce(nullif(share.std_error, 0) ** 2 * share.n, 0.25) * (normal_quantile(0.975) + normal_quantile(0.8)) ** 2
            as room
    from figures
)

select
    (select chosen.judge from chosen) as judge,
    method_a,
    method_b,
    n_questions,
    share_a,
    cast(ceil(room / nullif(abs(share_a - 0.5), 0) ** 2) as bigint) as questions_for_it,
    cast(ceil(room / 0.05 ** 2) as bigint) as questions_for_55,
    cast(ceil(room / 0.1 ** 2) as bigint) as questions_for_60
from spreads
order by method_a, method_b
