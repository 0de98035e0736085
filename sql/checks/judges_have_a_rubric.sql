-- The rubric of every judge is there, criterion by criterion.
select
    judges.judge_id,
    judges.rubric
from judges
anti join criteria on judges.rubric = criteria.rubric
