-- One row per answer × criterion of the wanted answers: the judge's first verdict, with its reason.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
--   points     points, as a list of their ids
with wanted as (
    select
        point_id,
        session_id
    from points
    where point_id in (select unnest(getvariable('points')))
),

answered as (
    select
        compactions.point_id,
        answers.answer_id
    from answers
    inner join compactions on answers.compaction_id = compactions.compaction_id
    where
        answers.session_id in (select wanted.session_id from wanted)
        and compactions.point_id in (select wanted.point_id from wanted)
)

select
    answered.point_id,
    scores.answer_id,
    scores.dimension,
    scores.criterion,
    scores.score,
    scores.unscored_reason,
    scores.reasoning
from scores
inner join answered on scores.answer_id = answered.answer_id
where
    scores.session_id in (select wanted.session_id from wanted)
    and scores.judge_id = getvariable('judge_id')
qualify row_number() over (partition by scores.answer_id, scores.criterion order by scores.judge_replicate) = 1
order by answered.point_id, scores.answer_id, scores.dimension, scores.criterion
