-- Forgetting: do methods get worse from one compaction of a session to the next?
--
-- One row per judge × method × cycle. Only long sessions reach a late cycle, so the means of two cycles are of other
-- sessions: do not read mean downwards. change compares a session with itself: its mean at the cycle less its mean at
-- its first one, over the sessions that have both, each counting the same. facts_stated looks at statements alone,
-- without a judge: of those that a probe of the session made cycle - 1 compactions ago, the share that can still be
-- read in the context. With history = prefix every point compacts the whole session so far, and a fall says that longer
-- histories are harder; with history = chain it is what compaction of compacted contexts loses.
--
-- A method that is not applicable everywhere has as its mean what its differences to the others on the same questions
-- come to, as on the leaderboard, where these are of five sessions or more. It has no change: its first compaction is
-- another one than theirs.
--
-- Parameters:
--   judge           name of a judge, or the beginning of its id (default: every judge, one after the other)
--   method          name of a method (default: all)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge           embedded (no language model) or the spec of a model
--   judge_id        judge version
--   method          name of the method
--   history         prefix or chain
--   cycle           which compaction of the session, from 1
--   mean            mean overall of the answers at this cycle, 0 to 5; NULL where it cannot be compared
--   n_answers       answers that it is over
--   n_sessions      sessions that they are of
--   change          mean change since the session's first cycle, of sessions that have both; NULL at the first
--   ci_low          lower end of the 95 % interval of the change; NULL with a single cluster
--   ci_high         upper end
--   n_compared      sessions that the change is over
--   n_clusters      projects that these are of, where there are ten; else sessions
--   facts_stated    share of statements of that age that can still be read, 0 to 1; NULL without any
--   n_facts         statements that it is over
with since_first as (
    select
        judge_id,
        method_id,
        session_id,
        cycle,
        mean - arg_min(mean, cycle) over (partition by judge_id, method_id, session_id) as change,
        cycle > min(cycle) over (partition by judge_id, method_id, session_id) as is_later
    from agg_cycle_scores
),

by_cluster as (
    select
        since_first.judge_id,
        since_first.method_id,
        since_first.cycle,
        sum(since_first.change) as change,
        count(*) as n_sessions
    from since_first
    inner join stg_clusters on since_first.session_id = stg_clusters.session_id
    where
        since_first.is_later
        and (since_first.judge_id, since_first.method_id) not in (
            select (partial_methods.judge_id, partial_methods.method_id) from int_partial_methods as partial_methods
        )
    group by since_first.judge_id, since_first.method_id, since_first.cycle, stg_clusters.cluster
),

changes as (
    select
        judge_id,
        method_id,
        cycle,
        cluster_figures(list(change), list(n_sessions)) as figures
    from by_cluster
    group by judge_id, method_id, cycle
)

select
    leaderboard_by_cycle.judge,
    leaderboard_by_cycle.judge_id,
    leaderboard_by_cycle.method,
    methods.history,
    leaderboard_by_cycle.cycle,
    leaderboard_by_cycle.mean_for_rank as mean,
    leaderboard_by_cycle.n_answers,
    leaderboard_by_cycle.n_sessions,
    changes.figures.mean as change,
    ci_low(changes.figures) as ci_low,
    ci_high(changes.figures) as ci_high,
    coalesce(changes.figures.n, 0) as n_compared,
    coalesce(changes.figures.n_clusters, 0) as n_clusters,
    fact_survival.share as facts_stated,
    coalesce(fact_survival.n_facts, 0) as n_facts
from leaderboard_by_cycle
inner join methods on leaderboard_by_cycle.method_id = methods.method_id
left join changes
    on
        leaderboard_by_cycle.judge_id = changes.judge_id
        and leaderboard_by_cycle.method_id = changes.method_id
        and leaderboard_by_cycle.cycle = changes.cycle
left join fact_survival
    on
        leaderboard_by_cycle.method_id = fact_survival.method_id
        and leaderboard_by_cycle.cycle - 1 = fact_survival.age
        and fact_survival.kind = 'any'
where
    leaderboard_by_cycle.dimension = 'overall'
    and judge_is_wanted(leaderboard_by_cycle.judge, leaderboard_by_cycle.judge_id)
    and version_is_wanted(leaderboard_by_cycle.is_current)
    and coalesce(leaderboard_by_cycle.method = getvariable('method'), true)
order by
    leaderboard_by_cycle.judge,
    leaderboard_by_cycle.judge_id,
    leaderboard_by_cycle.method,
    leaderboard_by_cycle.cycle
