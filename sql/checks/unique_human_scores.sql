-- answer_id, rater, criterion identify a row of human_scores.
select
    answer_id,
    rater,
    criterion,
    count(*) as n_rows
from human_scores
group by answer_id, rater, criterion
having count(*) > 1
