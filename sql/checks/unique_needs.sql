-- A need has its number in its point to itself.
select
    point_id,
    number,
    count(*) as n
from needs
group by point_id, number
having count(*) > 1
