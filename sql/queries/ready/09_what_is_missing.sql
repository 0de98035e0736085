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

scored as (
    select
        judge_id,
        count(distinct answer_id) as n_answers
    from int_answer_scores
    group by judge_id
),

own_answers as (
    select
        given.judge_id,
        count(distinct given.answer_id) as n_own
    from int_answer_scores as given
    inner join answers on given.answer_id = answers.answer_id
    inner join judges on given.judge_id = judges.judge_id
    where judges.judge <> 'embedded' and starts_with(answers.responder, judges.judge)
    group by given.judge_id
),

agreement as (
    select
        kind,
        rater_b as judge_id,
        n_answers,
        concat_ws(
            ', ',
            'kappa ' || coalesce(cast(round(kappa, 2) as varchar), 'undefined (' || undefined_because || ')'),
            'same point ' || cast(round(100 * exact) as bigint) || ' %',
            'within one ' || cast(round(100 * within_one) as bigint) || ' %',
            'judge less people ' || if(kind = 'judge and people', cast(round(mean_difference, 2) as varchar), null)
        ) as figures
    from judge_agreement
    where level = 'overall' and (kind = 'replicates' or (kind = 'judge and people' and rater_a = 'people'))
),

of_judges as (
    select
        judges.judge_id,
        'agreement with people' as item,
        coalesce(agreement.n_answers, 0) as n,
        coalesce(
            agreement.figures, 'nobody has labelled answers that it scored: compaction-eval calibrate --sample 100'
        ) as detail
    from judges
    left join agreement on judges.judge_id = agreement.judge_id and agreement.kind = 'judge and people'
    union all by name
    select
        agreement.judge_id,
        'agreement with itself' as item,
        agreement.n_answers as n,
        agreement.figures as detail
    from agreement
    where agreement.kind = 'replicates'
    union all by name
    select
        judge_id,
        'no language model' as item,
        'scores come from facts by formula and are not to be compared with those of a model or a person' as detail
    from judges
    where judge = 'embedded'
    union all by name
    select
        own_answers.judge_id,
        'judges its own answers' as item,
        own_answers.n_own as n,
        'the judge''s model also answered, and models tend to favour what they wrote' as detail
    from own_answers
    union all by name
    select
        scores.judge_id,
        'right answers scored below 5' as item,
        count(distinct scores.answer_id) as n,
        'word for word the true answer, and not right for it: read them (criterion accuracy_factual)' as detail
    from scores
    inner join answers on scores.answer_id = answers.answer_id
    inner join probes on answers.probe_id = probes.probe_id
    where scores.criterion = 'accuracy_factual' and scores.score < 5 and trim(answers.text) = trim(probes.ground_truth)
    group by scores.judge_id
    union all by name
    select
        judge_id,
        'first reply could not be read' as item,
        count(*) as n,
        'asked again' as detail
    from verdicts
    where asked_again
    group by judge_id
    union all by name
    select
        judge_id,
        'drift' as item,
        n_answers as n,
        dimension || ' of the anchors moved by ' || round(shift, 2) || ' until ' || taken_on as detail
    from judge_drift
    where drift
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
        judges.judge,
        of_judges.judge_id,
        of_judges.item,
        of_judges.n,
        scored.n_answers as out_of,
        of_judges.detail
    from of_judges
    inner join judges on of_judges.judge_id = judges.judge_id
    left join scored on of_judges.judge_id = scored.judge_id
    where judge_is_wanted(judges.judge, judges.judge_id)
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
