-- rubric, criterion identify a row of criteria.
select
    rubric,
    criterion,
    count(*) as n_rows
from criteria
group by rubric, criterion
having count(*) > 1
