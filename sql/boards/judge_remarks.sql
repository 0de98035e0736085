-- One row per judge × thing that speaks for or against it: agreement with people and with itself, drift, and what else
-- is to be known before its figures are quoted.
create view judge_remarks as
with scored as (
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

-- A judge itself, or the members of a panel: the models that judge.
judging_models as (
    select
        judge_id,
        model,
        false as leaves_out
    from judges
    where judge <> 'embedded'
    union all by name
    select
        panel_id as judge_id,
        member_model as model,
        not own_summaries as leaves_out
    from stg_panel_members
),

own_summaries as (
    select
        given.judge_id,
        bool_or(judging_models.leaves_out) as leaves_out,
        count(distinct given.answer_id) as n_own
    from int_answer_scores as given
    inner join methods on given.method_id = methods.method_id
    inner join judging_models
        on
            given.judge_id = judging_models.judge_id
            and judging_models.model = regexp_extract(methods.summarizer, '^[a-z]+:(.*?)( [(][^)]*[)])?@[^@]*$', 1)
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
        own_summaries.judge_id,
        case
            when own_summaries.leaves_out then 'leaves members out' else 'judges summaries of its own model'
        end as item,
        own_summaries.n_own as n,
        case
            when own_summaries.leaves_out
                then 'a member''s model wrote the summary, so the panel''s score is of the other members alone'
            else 'the judge''s model also wrote the summary, and models tend to favour what they wrote (--judges)'
        end as detail
    from own_summaries
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
)

select
    judges.judge,
    of_judges.judge_id,
    of_judges.item,  -- What was looked at
    of_judges.n,  -- Answers that it is about
    scored.n_answers,  -- Answers that the judge scored
    of_judges.detail  -- Figures, or what follows
from of_judges
inner join judges on of_judges.judge_id = judges.judge_id
left join scored on of_judges.judge_id = scored.judge_id
order by judges.judge, of_judges.judge_id, of_judges.item;
