-- One row per judge × method that was run with a way back to what it dropped (recover(over=…)): its scores without and
-- with what was fetched, over the same questions, and what was read for them.
--
-- Both sides have the same contexts. difference = score_with - score_without, paired; its interval is clustered
-- (`cluster_figures`). With the embedded engine the question's own words were searched; a model wrote its requests. An
-- agent that does not know what it has lost may not ask, so this is what a way back could give, not what it would
-- (docs/recovery.md).
--
-- Of current methods only: those that the newest run of the study asks for.
create view recovery as
with pairs as (
    select
        fetching.judge_id,
        fetching.method_id,
        plain.method_id as over_id,
        plain.method as over_method,
        stg_clusters.cluster,
        plain.session_id,
        plain.score as score_without,
        fetching.score as score_with,
        fetching.tokens_before,
        plain.tokens_read as tokens_without,
        fetching.tokens_read - plain.tokens_read as tokens_fetched,
        fetching.n_fetches
    from agg_probe_budgets as fetching
    inner join methods on fetching.method_id = methods.method_id
    inner join agg_probe_budgets as plain
        on
            methods.over_id = plain.method_id
            and fetching.judge_id = plain.judge_id
            and fetching.probe_id = plain.probe_id
    inner join stg_clusters on plain.session_id = stg_clusters.session_id
    where methods.strategy = 'recover'
),

by_cluster as (
    select
        judge_id,
        method_id,
        sum(score_with - score_without) as gain,
        count(*) as n
    from pairs
    group by judge_id, method_id, cluster
),

gains as (
    select
        judge_id,
        method_id,
        cluster_figures(list(gain order by n, gain), list(n order by n, gain)) as f
    from by_cluster
    group by judge_id, method_id
),

means as (
    select
        judge_id,
        method_id,
        over_id,
        over_method,
        avg(score_without) as score_without,
        avg(score_with) as score_with,
        avg(tokens_before) as tokens_before,
        avg(tokens_without) as tokens_without,
        avg(tokens_without + tokens_fetched) as tokens_with,
        avg(cast(tokens_fetched > 0 as integer)) as share_fetched,
        avg(n_fetches) as n_fetches,
        count(*) as n_probes,
        count(distinct session_id) as n_sessions
    from pairs
    group by judge_id, method_id, over_id, over_method
),

pointers as (
    select
        method_id,
        bool_or(n_edited > 0) as has_pointers
    from compactions
    group by method_id
)

select
    means.judge_id,
    judges.judge,
    means.over_method as method,  -- Name of the method that was run without and with fetching
    pointers.has_pointers,  -- Whether it leaves pointers: messages that stand with less than they said, which can be
    -- asked for by their number
    means.score_without,  -- Mean of overall without fetching, 0 to 5
    means.score_with,  -- The same with what was fetched, over the same questions
    gains.f.mean as difference,  -- score_with - score_without
    gains.f.std_error,  -- Standard error of the difference, clustered; NULL with a single cluster
    ci_low(gains.f) as ci_low,  -- Lower end of its 95 % interval; NULL where no session differs from another
    ci_high(gains.f) as ci_high,  -- Upper end of it
    t_test_of(gains.f) as p_value,  -- Two-sided p-value of no difference, for this row alone
    means.tokens_before,  -- Mean tokens of the history that the method was given
    means.tokens_without,  -- Mean tokens carried: of the contexts, with what a method fetches by itself
    means.tokens_with,  -- Mean tokens carried plus fetched
    means.share_fetched,  -- Share of the questions for which something was fetched
    means.n_fetches,  -- Mean number of fetches a question
    means.n_probes,  -- Questions that both sides have a score for
    means.n_sessions,  -- Sessions of these questions
    means.over_id as method_id,  -- Identity of method
    means.method_id as recovering_id,  -- Identity of the method that fetches, recover(over=…)
    gains.f.n_clusters
from means
inner join gains on means.judge_id = gains.judge_id and means.method_id = gains.method_id
inner join pointers on means.over_id = pointers.method_id
left join judges on means.judge_id = judges.judge_id
order by judges.judge asc, means.judge_id asc, means.score_with desc, means.over_method asc;
