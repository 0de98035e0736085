-- One row per criterion of the judge's rubric.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    criteria.criterion,
    criteria.dimension,
    criteria.weight,
    criteria.question
from criteria
inner join judges on criteria.rubric = judges.rubric
where judges.judge_id = getvariable('judge_id')
order by criteria.dimension, criteria.criterion
