-- One row per method × age × kind of statement, and one more of each with the kind 'any' (all but
-- constraints).
--
-- Age 0 is the point whose probe stated it first, age 1 the session's next point … What a figure means depends on
-- the method's history: with prefix every context is made from the whole session, so a share that falls with age says
-- that old things are left out; with chain the context is made from what was left last time, so it says how fast things
-- die in repeated compaction.
create view fact_survival as
with per_cluster as (
    select
        survival.method_id,
        survival.age,
        survival.kind,
        sum(survival.n_stated) as n_stated,
        sum(survival.n_facts) as n_facts,
        count(*) as n_sessions
    from agg_fact_survival as survival
    inner join stg_clusters on survival.session_id = stg_clusters.session_id
    group by survival.method_id, survival.age, survival.kind, stg_clusters.cluster
),

figures as (
    select
        method_id,
        age,
        kind,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(n_stated), list(n_facts)) as f
    from per_cluster
    group by method_id, age, kind
)

select
    stg_methods.method,  -- Name of the method, unique
    figures.method_id,  -- Method
    figures.age,  -- Cycles from the first point that stated it to the point of the context: 0 for the same point
    figures.kind,  -- Kind of statement (error, command, file_modified …); any: all of them
    figures.f.mean as share,  -- Share 0–1 of the statements that can still be read in the contexts
    figures.f.std_error,  -- Its standard error, clustered; NULL with a single cluster
    ci_low(figures.f) as ci_low,  -- Lower end of the 95 % interval; NULL with a single cluster
    ci_high(figures.f) as ci_high,  -- Upper end of the 95 % interval; NULL with a single cluster
    figures.f.n as n_facts,  -- Statements that were looked for, once for each context
    figures.n_sessions,  -- Sessions that they come from
    stg_methods.history,  -- prefix: each context is made from the whole session; chain: from what the method left at
    -- the point before
    stg_methods.is_current,
    figures.f.n_clusters
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id;
