-- answer_id identifies a row of answers.
select
    answer_id,
    count(*) as n_rows
from answers
group by answer_id
having count(*) > 1
