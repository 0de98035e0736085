-- All points are of one spec, because methods at points of different sizes cannot be compared.
select
    points_spec,
    count(*) as n_points
from points
group by points_spec
qualify count(*) over () > 1
