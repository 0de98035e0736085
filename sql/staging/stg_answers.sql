-- One row per answer with a compaction and a probe, with the method, point and session that they belong to.
create view stg_answers as
select
    answers.answer_id,
    answers.status,
    answers.replicate as answer_replicate,
    answers.responder,
    compactions.compaction_id,
    compactions.replicate as compaction_replicate,
    compactions.method_id,
    probes.probe_id,
    probes.probe_type,
    probes.prober,
    points.point_id,
    points.cycle,
    points.session_id,
    coalesce(sessions.task_type, 'unknown') as task_type,
    case
        when sessions.n_tokens < 32000 then 'short'
        when sessions.n_tokens < 128000 then 'medium'
        else 'long'
    end as length
from answers
inner join compactions on answers.compaction_id = compactions.compaction_id
inner join probes on answers.probe_id = probes.probe_id
inner join points on compactions.point_id = points.point_id
inner join sessions on points.session_id = sessions.session_id;
