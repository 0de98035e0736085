-- One row per judge × method × cycle from the second on: how far overall falls from the compaction before, and where it
-- falls most.
--
-- Each session that has a score at both cycles counts once, with its mean at each. So the interval is that of a mean of
-- paired differences, over sessions. Other questions are asked at each cycle: the fall of the control `none` is what
-- these alone come to. With history = prefix a fall says that longer histories are harder; with history = chain it is
-- what compaction of compacted contexts loses.
--
-- is_cliff marks the largest fall that two or more sessions show. It is a picked maximum: it is larger than the same
-- step would be over other sessions, and its interval is not that of a step that was named before.
create view cliffs as
with cluster_falls as (
    select
        later.judge_id,
        later.method_id,
        later.cycle,
        stg_clusters.cluster,
        sum(earlier.mean) as before,
        sum(later.mean) as after,
        count(*) as n_sessions
    from agg_cycle_scores as later
    inner join agg_cycle_scores as earlier using (judge_id, method_id, session_id)
    inner join stg_clusters on later.session_id = stg_clusters.session_id
    where later.cycle = earlier.cycle + 1
    group by later.judge_id, later.method_id, later.cycle, stg_clusters.cluster
),

steps as (
    select
        judge_id,
        method_id,
        cycle,
        sum(before) / sum(n_sessions) as before,
        sum(after) / sum(n_sessions) as after,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(before - after order by cluster), list(n_sessions order by cluster)) as fall
    from cluster_falls
    group by judge_id, method_id, cycle
)

select
    steps.judge_id,
    judges.judge,
    stg_methods.method,
    steps.cycle,  -- Number of the later compaction point within its session, from 2
    steps.before,  -- Mean overall at the cycle before, 0 to 5, over the sessions that have both
    steps.after,  -- Mean overall at the cycle, over the same sessions
    steps.fall.mean as fall,  -- before - after: above 0 where the method keeps less
    ci_low(steps.fall) as ci_low,  -- Lower end of the 95 % interval of the fall (Student's t); NULL with a single
    -- cluster and where no session differs from another
    ci_high(steps.fall) as ci_high,  -- Upper end of it
    steps.n_sessions,  -- Sessions that have a score at both cycles
    steps.fall.n_clusters > 1
    and round(steps.fall.mean, 9) > 0
    and row_number() over (
        partition by steps.judge_id, steps.method_id, steps.fall.n_clusters > 1
        order by round(steps.fall.mean, 9) desc, steps.cycle asc
    ) = 1 as is_cliff,  -- Whether it is the largest fall of the method that two or more sessions show; the first of
    -- equal ones; none where nothing falls
    steps.method_id,
    stg_methods.is_current,
    steps.fall.n_clusters
from steps
inner join stg_methods on steps.method_id = stg_methods.method_id
left join judges on steps.judge_id = judges.judge_id
order by judges.judge, steps.judge_id, stg_methods.method, steps.cycle;
