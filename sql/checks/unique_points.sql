-- point_id identifies a row of points.
select
    point_id,
    count(*) as n_rows
from points
group by point_id
having count(*) > 1
