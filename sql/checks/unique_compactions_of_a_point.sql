-- A method compacts a point once per replicate.
select
    point_id,
    method_id,
    replicate,
    count(*) as n_rows
from compactions
group by point_id, method_id, replicate
having count(*) > 1
