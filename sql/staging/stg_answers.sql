-- One row per answer with a compaction and a probe, with the method, point and session that they belong to.
create view stg_answers as
select
    answers.answer_id,  -- Identity of the answer
    answers.status,  -- done, or failed: there is nothing to score
    answers.replicate as answer_replicate,  -- Number of the repetition of the answer
    answers.responder,
    compactions.compaction_id,  -- Compaction whose context the responder saw
    compactions.replicate as compaction_replicate,  -- Number of the repetition of the compaction
    compactions.method_id,
    coalesce(compactions.same_context_as, compactions.compaction_id) as context_id,  -- First compaction of the method
    -- at the point with an equal context; the same request has the same answer
    probes.probe_id,  -- Question that was asked
    probes.probe_type,
    probes.prober,  -- What made the question
    points.point_id,  -- Compaction point
    points.cycle,  -- Number of the point in its session, from 1
    points.session_id,
    coalesce(sessions.task_type, 'unknown') as task_type,
    case
        when sessions.n_tokens < 32000 then 'short'
        when sessions.n_tokens < 128000 then 'medium'
        else 'long'
    end as length  -- Length of the session in tokens: short below 32,000, medium below 128,000, or long
from answers
inner join compactions on answers.compaction_id = compactions.compaction_id
inner join probes on answers.probe_id = probes.probe_id
inner join points on compactions.point_id = points.point_id
inner join sessions on points.session_id = sessions.session_id;
