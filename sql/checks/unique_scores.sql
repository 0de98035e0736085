-- answer_id, judge_id, judge_replicate, criterion identify a row of scores.
select
    answer_id,
    judge_id,
    judge_replicate,
    criterion,
    count(*) as n_rows
from scores
group by answer_id, judge_id, judge_replicate, criterion
having count(*) > 1
