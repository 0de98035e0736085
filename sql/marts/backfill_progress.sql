-- One row per judge × day × method with a done answer: how many of that day's answers the judge has judged.
--
-- An answer is judged when one verdict on it was given, failed when all that were asked for failed. The view knows what
-- was loaded; a backfill that is under way is loaded at its end.
create view backfill_progress as
with given as (
    select
        answers.answer_id,
        compactions.method_id,
        cast(answers.answered_at as date) as day
    from answers
    inner join compactions on answers.compaction_id = compactions.compaction_id
    where answers.status = 'done'
),

totals as (
    select
        method_id,
        day,
        count(*) as n_answers
    from given
    group by method_id, day
),

verdicts as (
    select
        judge_id,
        answer_id,
        bool_and(coalesce(starts_with(unscored_reason, 'the judge failed'), false)) as has_failed
    from scores
    group by judge_id, answer_id
),

judged as (
    select
        verdicts.judge_id,
        given.method_id,
        given.day,
        count(*) filter (where not verdicts.has_failed) as n_judged,
        count(*) filter (where verdicts.has_failed) as n_failed
    from verdicts
    inner join given on verdicts.answer_id = given.answer_id
    group by verdicts.judge_id, given.method_id, given.day
)

select
    judges.judge_id,
    judges.judge,
    totals.day,  -- Day (UTC) on which the answers were given; NULL for those of stores that did not note it
    stg_methods.method,
    totals.n_answers,  -- Answers of the day and method that can be judged
    coalesce(judged.n_judged, 0) as n_judged,  -- Of these, answers with a verdict of this judge
    coalesce(judged.n_failed, 0) as n_failed,  -- Of these, answers of which every verdict failed; a backfill asks anew
    totals.n_answers - coalesce(judged.n_judged, 0) - coalesce(judged.n_failed, 0) as n_left,  -- Of these, answers that
    -- the judge was not asked about yet
    stg_methods.is_current
from judges
cross join totals
inner join stg_methods on totals.method_id = stg_methods.method_id
left join judged
    on
        judges.judge_id = judged.judge_id
        and totals.method_id = judged.method_id
        and totals.day is not distinct from judged.day
order by judges.judge asc, judges.judge_id asc, totals.day desc nulls last, stg_methods.method asc;
