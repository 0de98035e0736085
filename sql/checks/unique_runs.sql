-- run_id identifies a row of runs.
select
    run_id,
    count(*) as n_rows
from runs
group by run_id
having count(*) > 1
