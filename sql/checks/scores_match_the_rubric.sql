-- The rubric of the judge lists every scored criterion, in the dimension that the score names.
select
    scores.answer_id,
    scores.judge_id,
    scores.criterion,
    scores.dimension,
    criteria.dimension as dimension_of_criterion
from scores
inner join judges on scores.judge_id = judges.judge_id
left join criteria on judges.rubric = criteria.rubric and scores.criterion = criteria.criterion
where criteria.dimension is distinct from scores.dimension
