-- Of every done compaction, each message of the session before the cut has one fate: kept, edited, covered or dropped.
select
    compaction_id,
    n_kept + n_edited + n_covered + n_dropped as n_messages,
    len(list_distinct(list_concat(kept, edited, covered, dropped))) as n_positions
from compactions
where
    status = 'done'
    and kept is not null
    and len(list_distinct(list_concat(kept, edited, covered, dropped)))
    <> n_kept + n_edited + n_covered + n_dropped
