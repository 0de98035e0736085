-- judge_id identifies a row of judges.
select
    judge_id,
    count(*) as n_rows
from judges
group by judge_id
having count(*) > 1
