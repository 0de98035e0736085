-- answer_id, judge_id, taken_on, criterion identify a row of anchor_scores.
select
    answer_id,
    judge_id,
    taken_on,
    criterion,
    count(*) as n_rows
from anchor_scores
group by answer_id, judge_id, taken_on, criterion
having count(*) > 1
