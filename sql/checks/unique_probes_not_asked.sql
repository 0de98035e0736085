-- point_id, probe_type, prober identify a row of probes_not_asked.
select
    point_id,
    probe_type,
    prober,
    count(*) as n_rows
from probes_not_asked
group by point_id, probe_type, prober
having count(*) > 1
