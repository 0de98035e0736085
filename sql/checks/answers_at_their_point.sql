-- The compaction and the probe of an answer belong to the same point, and the answer names its session.
select
    answers.answer_id,
    compactions.point_id as point_of_compaction,
    probes.point_id as point_of_probe
from answers
inner join compactions on answers.compaction_id = compactions.compaction_id
inner join probes on answers.probe_id = probes.probe_id
inner join points on compactions.point_id = points.point_id
where compactions.point_id <> probes.point_id or answers.session_id <> points.session_id
