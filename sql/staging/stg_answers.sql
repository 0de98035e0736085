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
    coalesce(compactions.same_context_as, compactions.compaction_id) as context_id,
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

comment on column stg_answers.answer_id is 'Identity of the answer';
comment on column stg_answers.status is 'done, or failed: there is nothing to score';
comment on column stg_answers.answer_replicate is 'Number of the repetition of the answer';
comment on column stg_answers.responder is 'What answered: embedded or the spec of a model';
comment on column stg_answers.compaction_id is 'Compaction whose context the responder saw';
comment on column stg_answers.compaction_replicate is 'Number of the repetition of the compaction';
comment on column stg_answers.context_id is
'First compaction of the method at the point with an equal context; the same request has the same answer';
comment on column stg_answers.method_id is 'Identity of the method';
comment on column stg_answers.probe_id is 'Question that was asked';
comment on column stg_answers.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column stg_answers.prober is 'What made the question';
comment on column stg_answers.point_id is 'Compaction point';
comment on column stg_answers.cycle is 'Number of the point in its session, from 1';
comment on column stg_answers.session_id is 'Session';
comment on column stg_answers.task_type is 'Kind of work of the session; unknown where the session has none';
comment on column stg_answers.length is
'Length of the session in tokens: short below 32,000, medium below 128,000, or long';
