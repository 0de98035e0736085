-- No two inputs have the same path.
select
    input_path,
    count(*) as n
from inputs
group by input_path
having count(*) > 1
