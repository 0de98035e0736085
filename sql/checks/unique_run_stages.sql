-- run_id and stage identify a row of run_stages, and the run is there.
select
    run_stages.run_id,
    run_stages.stage,
    count(*) as n_rows
from run_stages
left join runs on run_stages.run_id = runs.run_id
group by run_stages.run_id, run_stages.stage
having count(*) > 1 or count(runs.run_id) = 0
