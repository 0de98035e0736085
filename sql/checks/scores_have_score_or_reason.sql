-- Every row of scores has either a score or the reason why there is none.
select
    answer_id,
    judge_id,
    judge_replicate,
    criterion,
    score,
    unscored_reason
from scores
where (score is null) = (unscored_reason is null)
