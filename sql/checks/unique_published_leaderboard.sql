-- method identifies a row of published_leaderboard.
select
    method,
    count(*) as n_rows
from published_leaderboard
group by method
having count(*) > 1
