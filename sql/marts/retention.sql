-- One row per judge × current method × dimension (and 'overall') with scores beside both controls: what share of the
-- history's worth survives the method.
--
-- retention = sum(method - empty) / sum(none - empty), over the questions that all three have a score for. 1 is as good
-- as the whole history, 0 as good as nothing. It is a mean of (method - empty) / (none - empty) in which each session
-- weighs by its none - empty, so `cluster_figures` gives its interval. Sessions of which the whole history is worth
-- nothing are left out.
--
-- A load makes a table of it (`flows.database.database_draft.MATERIALIZED`): it reads every score.
create view retention as
with given as (
    select
        scores.judge_id,
        scores.dimension,
        scores.probe_id,
        scores.session_id,
        scores.method_id,
        stg_methods.strategy,
        avg(scores.score) as score
    from int_answer_scores as scores
    inner join stg_methods on scores.method_id = stg_methods.method_id
    where stg_methods.is_current
    group by all
),

bounds as (
    select
        judge_id,
        dimension,
        probe_id,
        avg(score) filter (where strategy = 'none') as whole,
        avg(score) filter (where strategy = 'empty') as nothing
    from given
    where strategy in ('none', 'empty')
    group by judge_id, dimension, probe_id
),

sums as (
    select
        given.judge_id,
        given.dimension,
        given.method_id,
        given.session_id,
        sum(given.score - bounds.nothing) as kept,
        sum(bounds.whole - bounds.nothing) as worth,
        count(*) as n
    from given
    inner join bounds using (judge_id, dimension, probe_id)
    where bounds.whole is not null and bounds.nothing is not null
    group by given.judge_id, given.dimension, given.method_id, given.session_id
),

by_cluster as (
    select
        sums.judge_id,
        sums.dimension,
        sums.method_id,
        stg_clusters.cluster,
        sum(sums.kept) as kept,
        sum(sums.worth) as worth,
        sum(sums.n) as n,
        count(*) as n_sessions
    from sums
    inner join stg_clusters on sums.session_id = stg_clusters.session_id
    where sums.worth > 0
    group by sums.judge_id, sums.dimension, sums.method_id, stg_clusters.cluster
),

figures as (
    select
        judge_id,
        dimension,
        method_id,
        cluster_figures(list(kept order by cluster), list(worth order by cluster)) as f,
        sum(n) as n_questions,
        sum(n_sessions) as n_sessions
    from by_cluster
    group by judge_id, dimension, method_id
)

select
    figures.judge_id,
    stg_methods.method,  -- Method, as on the leaderboard
    figures.dimension,
    figures.f.mean as retention,  -- (mean - empty) / (none - empty) over questions that all three have a score for: 1
    -- as the whole history, 0 as nothing
    ci_low(figures.f) as ci_low,  -- Lower end of its 95 % interval, clustered; NULL with one session
    ci_high(figures.f) as ci_high,  -- Upper end of its 95 % interval, clustered; NULL with one session
    cast(figures.n_questions as bigint) as n_questions,  -- Questions that method, none and empty have a score for
    cast(figures.n_sessions as bigint) as n_sessions,  -- Sessions of these questions
    figures.f.n_clusters
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
order by figures.judge_id asc, figures.dimension asc, figures.f.mean desc, stg_methods.method asc;
