-- method_id identifies a row of methods.
select
    method_id,
    count(*) as n_rows
from methods
group by method_id
having count(*) > 1
