-- One row per judge × method with a score: its quality against its tokens, and whether another method beats it at
-- both.
--
-- Quality is overall; tokens are what a question was answered from: the compacted context and, under a method that
-- fetches for the question (retrieval), what it fetched. A method is on the frontier when no other is at least as
-- good with at most its tokens, and better or cheaper. Each pair is compared on the questions that both have a
-- score for, so that a failure counts for nobody; a method that is not applicable everywhere (is_partial) can be
-- dominated and dominates none, because it was asked too little.
--
-- dominated_by is the dominating method that is better by most, distance is by how much: 0 where that one is only
-- cheaper. p_adjusted is of this pair: Holm's correction over all pairs of methods of the judge, on overall,
-- clustered, the p_adjusted_in_dimension of paired_differences. Points near the frontier are often not
-- told apart from it: is_beyond_noise says which are.
--
-- Of current methods only: those that the newest run of the study asks for.
create view pareto as
with budgets as materialized (
    select * from agg_probe_budgets
),

signatures as (
    select
        judge_id,
        probe_id,
        list(method_id order by method_id) as method_ids
    from budgets
    group by judge_id, probe_id
),

-- Over the questions that the same methods have a score for, the difference of sums is the sum of differences.
by_cluster as (
    select
        budgets.judge_id,
        stg_clusters.cluster,
        signatures.method_ids,
        budgets.method_id,
        sum(budgets.score) as score_sum,
        sum(budgets.tokens_read) as tokens_sum,
        count(*) as n_probes
    from budgets
    inner join signatures on budgets.judge_id = signatures.judge_id and budgets.probe_id = signatures.probe_id
    inner join stg_clusters on budgets.session_id = stg_clusters.session_id
    group by budgets.judge_id, stg_clusters.cluster, signatures.method_ids, budgets.method_id
),

cluster_pairs as (
    select
        a.judge_id,
        a.method_id,
        b.method_id as other_id,
        sum(b.score_sum - a.score_sum) as gain_sum,
        sum(b.tokens_sum - a.tokens_sum) as extra_sum,
        cast(sum(a.n_probes) as bigint) as n_probes
    from by_cluster as a
    inner join by_cluster as b
        on
            a.judge_id = b.judge_id
            and a.cluster = b.cluster
            and a.method_ids = b.method_ids
            and a.method_id < b.method_id
    group by a.judge_id, a.cluster, a.method_id, b.method_id
),

figures as (
    select
        judge_id,
        method_id,
        other_id,
        sum(extra_sum) / sum(n_probes) as extra_tokens,
        cluster_figures(list(gain_sum), list(n_probes)) as gain
    from cluster_pairs
    group by judge_id, method_id, other_id
),

tested as materialized (
    select
        judge_id,
        method_id,
        other_id,
        extra_tokens,
        gain.mean as gain,
        t_test_of(gain) as p_value
    from figures
),

adjusted as materialized (
    select * exclude (p_value) from holm_adjusted(tested, judge_id)
),

both_ways as (
    select * from adjusted
    union all
    select
        judge_id,
        other_id as method_id,
        method_id as other_id,
        -extra_tokens as extra_tokens,
        -gain as gain,
        p_adjusted
    from adjusted
),

means as (
    select
        judge_id,
        method_id,
        avg(score) as overall,
        avg(fetched_tokens) as fetched_tokens,
        avg(tokens_read) as tokens_read,
        count(*) as n_probes,
        count(distinct session_id) as n_sessions
    from budgets
    group by judge_id, method_id
),

methods_of_judge as (
    select
        means.judge_id,
        means.method_id,
        stg_methods.method,
        means.overall,
        1.0 * agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_kept,
        1.0 * agg_compactions.tokens_after / nullif(agg_compactions.n_done, 0) as tokens_after,
        means.fetched_tokens,
        means.tokens_read,
        means.n_probes,
        means.n_sessions,
        agg_compactions.n_not_applicable > 0
        and bool_or(agg_compactions.n_not_applicable = 0) over (partition by means.judge_id) as is_partial
    from means
    inner join stg_methods on means.method_id = stg_methods.method_id
    inner join agg_compactions on means.method_id = agg_compactions.method_id
),

dominating as (
    select
        both_ways.judge_id,
        both_ways.method_id,
        both_ways.other_id,
        others.method as dominated_by,
        greatest(0.0, both_ways.gain) as distance,
        both_ways.p_adjusted
    from both_ways
    inner join methods_of_judge as others
        on both_ways.judge_id = others.judge_id and both_ways.other_id = others.method_id
    where
        not others.is_partial
        and both_ways.gain >= -1e-9
        and both_ways.extra_tokens <= 1e-6
        and (both_ways.gain > 1e-9 or both_ways.extra_tokens < -1e-6)
    qualify
        row_number() over (
            partition by both_ways.judge_id, both_ways.method_id
            order by round(both_ways.gain, 9) desc, both_ways.extra_tokens asc, others.method asc
        ) = 1
)

select
    methods_of_judge.judge_id,
    judges.judge,
    methods_of_judge.method,
    methods_of_judge.overall,  -- Mean of overall over the questions that it has a score for, 0 to 5
    methods_of_judge.tokens_kept,  -- Share of tokens that its contexts keep, over its done compactions; above 1 when
    -- contexts grew
    methods_of_judge.tokens_after,  -- Mean tokens of its contexts, per done compaction
    methods_of_judge.fetched_tokens,  -- Mean tokens that it fetched for a question; 0 for most methods
    methods_of_judge.tokens_read,  -- Mean tokens that a question was answered from: the context, and what was fetched
    -- for it
    dominating.other_id is null as on_frontier,  -- Whether no other method is at least as good with at most its tokens,
    -- and better or cheaper
    dominating.dominated_by,  -- Of the methods that dominate it the best; NULL on the frontier
    coalesce(dominating.distance, 0.0) as distance,  -- Points of overall that dominated_by is better by, on the same
    -- questions; 0 on the frontier
    dominating.p_adjusted,  -- Of no difference in overall to dominated_by, after Holm's correction over the pairs of
    -- methods of the judge
    case when dominating.distance > 1e-9 then dominating.p_adjusted < 0.05 end as is_beyond_noise,  -- Whether
    -- p_adjusted is below 0.05; NULL on the frontier, without a p-value, and where dominated_by is only cheaper
    methods_of_judge.n_probes,  -- Questions that it has a score for
    methods_of_judge.n_sessions,  -- Sessions that these questions are of
    methods_of_judge.is_partial,  -- Whether it is not applicable at some points: it then dominates no other method
    dominating.other_id as dominated_by_id,  -- Identity of dominated_by
    methods_of_judge.method_id
from methods_of_judge
left join judges on methods_of_judge.judge_id = judges.judge_id
left join dominating
    on methods_of_judge.judge_id = dominating.judge_id and methods_of_judge.method_id = dominating.method_id
order by
    judges.judge asc, methods_of_judge.judge_id asc, methods_of_judge.tokens_read asc, methods_of_judge.overall desc,
    methods_of_judge.method asc;
