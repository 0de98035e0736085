-- One row per other rater × dimension (and 'overall') whose scores can be held against the judge's.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    kind,
    if(rater_a = getvariable('judge_id'), coalesce(judge_b, rater_b), coalesce(judge_a, rater_a)) as other,
    if(rater_a = getvariable('judge_id'), rater_b, rater_a) as other_id,
    level,
    item,
    n_answers,
    n_sessions,
    kappa,
    alpha_ordinal,
    icc,
    exact,
    within_one,
    if(rater_a = getvariable('judge_id') and kind <> 'replicates', -mean_difference, mean_difference) as bias,
    undefined_because
from judge_agreement
where
    getvariable('judge_id') in (rater_a, rater_b)
    and level in ('overall', 'dimension')
    and (kind <> 'judge and people' or rater_a = 'people')
order by kind asc, other asc, level desc, item asc
