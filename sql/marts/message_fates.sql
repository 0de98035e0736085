-- One row per done compaction × message of the session before the point: its fate, and what made message stands for it.
create view message_fates as
with fates as (
    select
        compaction_id,
        unnest(kept) as seq,
        'kept' as fate
    from compactions
    union all
    select
        compaction_id,
        unnest(edited) as seq,
        'edited' as fate
    from compactions
    union all
    select
        compaction_id,
        unnest(covered) as seq,
        'covered' as fate
    from compactions
    union all
    select
        compaction_id,
        unnest(dropped) as seq,
        'dropped' as fate
    from compactions
),

made as (
    select
        compaction_id,
        unnest(made) as message
    from compactions
),

covers as (
    select
        compaction_id,
        message.position as covered_by,
        unnest(message.covers) as seq
    from made
)

select
    fates.compaction_id,  -- Compaction
    fates.seq,  -- Position of the message in its session
    fates.fate,  -- kept, edited, covered or dropped
    min(covers.covered_by) as covered_by  -- Position in the compacted context of the first made message that stands for
    -- it; NULL unless covered
from fates
left join covers
    on fates.compaction_id = covers.compaction_id and fates.seq = covers.seq and fates.fate = 'covered'
group by fates.compaction_id, fates.seq, fates.fate;
