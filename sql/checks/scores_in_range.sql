-- Every score lies within 0 to 5.
select
    answer_id,
    judge_id,
    judge_replicate,
    criterion,
    score
from scores
where not score between 0 and 5
