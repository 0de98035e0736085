-- probe_id identifies a row of probes.
select
    probe_id,
    count(*) as n_rows
from probes
group by probe_id
having count(*) > 1
