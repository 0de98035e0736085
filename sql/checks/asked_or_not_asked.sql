-- A prober either asks a question of a type at a point or says why not, never both.
select
    probes.point_id,
    probes.probe_type,
    probes.prober
from probes
inner join probes_not_asked
    on
        probes.point_id = probes_not_asked.point_id
        and probes.probe_type = probes_not_asked.probe_type
        and probes.prober = probes_not_asked.prober
