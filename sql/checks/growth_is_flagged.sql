-- A compaction leaves no more tokens than before unless it is flagged with grew.
select
    compaction_id,
    tokens_before,
    tokens_after
from compactions
where tokens_after > tokens_before and not coalesce(grew, false)
