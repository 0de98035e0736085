-- What is missing: what do the figures leave out, and can the judge be believed?
--
-- One row per thing to know before quoting a figure; no rows for what is as it should be. Kinds: a check that does not
-- hold; items that failed, are unscored or missing; the reasons that were given for them; and for every judge what
-- speaks for or against it. Nothing that is missing counts as 0: it is left out, so methods that fail on hard questions
-- can look better than they are (overall_on_shared_probes of `leaderboard` compares on equal questions).
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id; rows without a judge are shown anyway (default: every judge)
--
-- Columns:
--   kind        check, coverage, reason or judge
--   judge       judge that it concerns; NULL where it concerns all
--   judge_id    judge version
--   method      method that it concerns; NULL where it concerns all
--   item        name of the check, the stage and what became of the items, or what was looked at in a judge
--   n           how many
--   out_of      of how many, of a judge the answers that it scored; NULL where there is no total
--   detail      what holds, why, or figures
with coverage_gaps as (
    unpivot (
        select
            method,
            stage,
            expected,
            failed,
            missing
        from coverage
        where stage in ('compaction', 'probe', 'answer')
        union all by name
        select
            judge,
            judge_id,
            method,
            'score' as stage,
            expected,
            unscored as failed,
            missing
        from coverage_by_judge
        where judge_is_wanted(judge, judge_id)
    )
    on failed, missing
    into name fate value n
),

found as (
    select
        'check' as kind,
        invariant as item,
        violations as n,
        'does not hold: ' || meaning as detail
    from checks
    where violations > 0
    union all by name
    select
        'coverage' as kind,
        judge,
        judge_id,
        nullif(method, 'all methods') as method,
        stage || ' ' || if(stage = 'score' and fate = 'failed', 'unscored', fate) as item,
        n,
        expected as out_of
    from coverage_gaps
    where n > 0
    union all by name
    select
        'reason' as kind,
        judges.judge,
        reasons.judge_id,
        reasons.item,
        reasons.n,
        reasons.reason as detail
    from agg_reasons as reasons
    left join judges on reasons.judge_id = judges.judge_id
    where reasons.judge_id is null or judge_is_wanted(judges.judge, judges.judge_id)
    union all by name
    select
        'judge' as kind,
        judge,
        judge_id,
        item,
        n,
        n_answers as out_of,
        detail
    from judge_remarks
    where judge_is_wanted(judge, judge_id)
)

select
    kind,
    judge,
    judge_id,
    method,
    item,
    n,
    out_of,
    detail
from found
order by
    list_position(['check', 'coverage', 'reason', 'judge'], kind) asc,
    judge asc nulls first,
    judge_id asc nulls first,
    n desc nulls last,
    item asc,
    method asc,
    detail asc
