-- A prober asks one question of a type at a point.
select
    point_id,
    probe_type,
    prober,
    count(*) as n_rows
from probes
group by point_id, probe_type, prober
having count(*) > 1
