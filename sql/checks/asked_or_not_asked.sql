-- A prober either asks a question of a type at a point or says why not, never both.
select
    probes.point_id,
    probes.probe_type,
    probes.prober
from probes
inner join probes_not_asked using (point_id, probe_type, prober)
