-- A name on the leaderboard is one method's.
select
    method,
    count(*) as n_methods
from stg_methods
group by method
having count(*) > 1
