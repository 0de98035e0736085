-- A probe that a responder was asked under one method was asked of it under every current one that is done there.
with asked as (
    select
        probe_id,
        responder,
        answer_replicate,
        point_id,
        list(distinct compaction_id) as compaction_ids
    from stg_answers
    group by probe_id, responder, answer_replicate, point_id
)

select
    compactions.method_id,
    (select m.method from stg_methods as m where m.method_id = compactions.method_id) as method,
    compactions.compaction_id,
    asked.probe_id,
    asked.responder,
    asked.answer_replicate
from asked
inner join compactions on asked.point_id = compactions.point_id
inner join methods on compactions.method_id = methods.method_id
where
    methods.is_current
    and compactions.status = 'done'
    and not list_contains(asked.compaction_ids, compactions.compaction_id)
