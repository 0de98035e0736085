-- Forgetting: do methods get worse from one compaction of a session to the next?
--
-- One row per judge × method × cycle. Only long sessions reach a late cycle, so the means of two cycles are of other
-- sessions: do not read mean downwards. change compares a session with itself: its mean at the cycle less its mean at
-- its first one, over the sessions that have both, each counting the same. facts_stated looks at statements alone,
-- without a judge: of those that a probe of the session made cycle - 1 compactions ago, the share that can still be
-- read in the context. With history = prefix every point compacts the whole session so far, and a fall says that longer
-- histories are harder; with history = chain it is what compaction of compacted contexts loses.
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
--   mean            mean overall of the answers at this cycle, 0 to 5
--   n_answers       answers that it is over
--   n_sessions      sessions that they are of
--   change          mean change since the session's first cycle, of sessions that have both; NULL at the first
--   ci_low          lower end of the 95 % interval of the change; NULL with a single session
--   ci_high         upper end
--   n_compared      sessions that the change is over
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

changes as (
    select
        judge_id,
        method_id,
        cycle,
        cluster_figures(list(change), list(1)) as figures
    from since_first
    where is_later
    group by judge_id, method_id, cycle
)

select
    leaderboard_by_cycle.judge,
    leaderboard_by_cycle.judge_id,
    leaderboard_by_cycle.method,
    methods.history,
    leaderboard_by_cycle.cycle,
    leaderboard_by_cycle.mean,
    leaderboard_by_cycle.n_answers,
    leaderboard_by_cycle.n_sessions,
    changes.figures.mean as change,
    ci_low(changes.figures) as ci_low,
    ci_high(changes.figures) as ci_high,
    coalesce(changes.figures.n_clusters, 0) as n_compared,
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
