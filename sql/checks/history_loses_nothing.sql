-- A context that is the history as it was meets every need.
select
    measures.compaction_id,
    measures.n_lost
from measures
inner join compactions on measures.compaction_id = compactions.compaction_id
inner join points on compactions.point_id = points.point_id
where
    measures.status = 'done'
    and compactions.n_kept = points.cut_seq
    and (measures.n_lost > 0 or measures.n_any_right < measures.n_any_true)
