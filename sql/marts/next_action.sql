-- One row per method whose contexts were asked for the next tool call: how often it differs from what the whole history
-- leads to, beyond how often that differs from itself.
--
-- effect = changed - noise, over the same points, so it is paired; its interval is clustered (`cluster_figures`).
-- 0: the model goes on as it would with all of the history. Of `none`, which is a third asking of it, it is 0 but for
-- chance.
create view next_action as
with by_cluster as (
    select
        agg_next_actions.method_id,
        sum(agg_next_actions.n_points) as n,
        sum(agg_next_actions.n_changed) as changed,
        sum(agg_next_actions.n_changed - agg_next_actions.n_noise) as effect,
        sum(agg_next_actions.n_same) as same,
        sum(agg_next_actions.n_noise) as noise,
        sum(agg_next_actions.n_known) as n_known,
        sum(agg_next_actions.n_as_session) as as_session,
        sum(agg_next_actions.n_full_as_session) as full_as_session,
        count(*) as n_sessions
    from agg_next_actions
    inner join stg_clusters on agg_next_actions.session_id = stg_clusters.session_id
    group by agg_next_actions.method_id, stg_clusters.cluster
),

figures as (
    select
        method_id,
        cluster_figures(list(effect order by n, effect), list(n order by n, effect)) as f,
        sum(changed) / sum(n) as changed,
        sum(noise) / sum(n) as noise,
        sum(same) / sum(n) as same,
        cast(sum(n) as bigint) as n_points,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cast(sum(n_known) as bigint) as n_known,
        sum(as_session) / nullif(sum(n_known), 0) as as_session,
        sum(full_as_session) / nullif(sum(n_known), 0) as full_as_session
    from by_cluster
    group by method_id
),

tested as (
    select
        figures.*,
        stg_methods.method,
        stg_methods.is_current,
        t_test_of(figures.f) as p_value,
        p_step(t_test_of(figures.f), stg_methods.is_current) as step
    from figures
    inner join stg_methods on figures.method_id = stg_methods.method_id
)

select
    method,
    n_points,  -- Points at which it was asked for, with both answers from the whole history
    changed,  -- Share of them with a different action than the whole history's: half for each of its two answers
    noise,  -- Share of them where the two answers from the whole history differ from each other
    f.mean as effect,  -- changed - noise: what the compaction changes beyond the model's own changes of mind, -1 to 1
    f.std_error,  -- Standard error of the effect, clustered; NULL with a single cluster
    ci_low(f) as ci_low,  -- Lower end of its 95 % interval; NULL where no session differs from another
    ci_high(f) as ci_high,  -- Upper end of it
    p_value,  -- Two-sided p-value of no effect, for this row alone
    holm(p_value, step, is_current) as p_adjusted,  -- p_value after Holm's correction over the current methods
    same,  -- Share of the points with the same action: tool, files and program, of an edit a line in common
    1 - changed - same as equivalent,  -- Share with an equivalent one: the same to the same file, by another tool
    as_session,  -- Share of the points whose next step is known with the session's own action or an equivalent one
    full_as_session,  -- The same share of the whole history's answers, at the same points
    n_known,  -- Points whose next step in the session is known: no person spoke first
    n_sessions,  -- Sessions of the points
    method_id,
    is_current,
    f.n_clusters
from tested
order by effect, method;
