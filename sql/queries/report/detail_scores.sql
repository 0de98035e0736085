-- One row per answer × criterion of the wanted answers: the judge's first verdict, with its reason.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
--   points     points, as a list of their ids
select
    stg_answers.point_id,
    scores.answer_id,
    scores.dimension,
    scores.criterion,
    scores.score,
    scores.unscored_reason,
    scores.reasoning
from scores
inner join stg_answers on scores.answer_id = stg_answers.answer_id
where scores.judge_id = getvariable('judge_id') and list_contains(getvariable('points'), stg_answers.point_id)
qualify row_number() over (partition by scores.answer_id, scores.criterion order by scores.judge_replicate) = 1
order by stg_answers.point_id, scores.answer_id, scores.dimension, scores.criterion
