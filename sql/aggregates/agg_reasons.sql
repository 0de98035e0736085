-- One row per judge (of scores) × item × reason: what there is no compaction, probe, answer or score of, and why.
create view agg_reasons as
select
    judge_id,  -- Judge version; NULL of what is no score
    'criterion unscored' as item,  -- What there is none of, and what became of it
    unscored_reason as reason,  -- What was given as the reason
    count(*) as n  -- Items
from scores
where score is null
group by judge_id, item, reason
union all
select
    null as judge_id,
    'compaction ' || status as item,
    error as reason,
    count(*) as n
from compactions
where status <> 'done'
group by item, reason
union all
select
    null as judge_id,
    'probe ' || status as item,
    reason,
    count(*) as n
from probes_not_asked
group by item, reason
union all
select
    null as judge_id,
    'answer failed' as item,
    error as reason,
    count(*) as n
from answers
where status = 'failed'
group by item, reason;
