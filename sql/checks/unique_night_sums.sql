-- `night_sums` has each night, judge, method, dimension and session once.
select
    night,
    judge_id,
    method,
    dimension,
    session_id,
    count(*) as n
from night_sums
group by night, judge_id, method, dimension, session_id
having count(*) > 1
