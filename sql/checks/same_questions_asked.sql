-- A probe that a responder was asked under one method was asked of it under every method with a done compaction there.
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
    compactions.compaction_id,
    asked.probe_id,
    asked.responder,
    asked.answer_replicate
from asked
inner join compactions on asked.point_id = compactions.point_id
where compactions.status = 'done' and not list_contains(asked.compaction_ids, compactions.compaction_id)
