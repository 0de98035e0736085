-- One row per wanted point × method: what became of the history there, each method's first repetition.
--
-- Parameters (variables):
--   points   points, as a list of their ids
select
    points.point_id,
    points.session_id,
    points.cycle,
    points.cut_seq,
    compactions.compaction_id,
    stg_methods.method,
    compactions.status,
    compactions.error,
    compactions.tokens_before,
    compactions.tokens_after,
    compactions.flags,
    compactions.edited,
    compactions.covered,
    compactions.dropped,
    measures.lost
from points
inner join compactions on points.point_id = compactions.point_id
inner join stg_methods on compactions.method_id = stg_methods.method_id
left join measures on compactions.compaction_id = measures.compaction_id and measures.status = 'done'
where stg_methods.is_current and compactions.point_id in (select unnest(getvariable('points')))
qualify
    row_number() over (partition by compactions.point_id, compactions.method_id order by compactions.replicate) = 1
order by points.point_id, stg_methods.method
