-- Every message before the cut is kept, edited, covered by a summary or dropped by a done compaction, in chains too.
select
    compactions.compaction_id,
    points.cut_seq,
    compactions.n_kept + compactions.n_edited + compactions.n_covered + compactions.n_dropped as n_accounted_for
from compactions
inner join points on compactions.point_id = points.point_id
where
    compactions.status = 'done'
    and points.cut_seq
    <> compactions.n_kept + compactions.n_edited + compactions.n_covered + compactions.n_dropped
