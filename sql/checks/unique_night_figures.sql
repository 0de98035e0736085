-- `night_figures` has each night, judge, method and dimension once.
select
    night,
    judge_id,
    method,
    dimension,
    count(*) as n
from night_figures
group by night, judge_id, method, dimension
having count(*) > 1
