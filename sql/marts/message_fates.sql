-- One row per done compaction × message of the session before the point: its fate, and what made message stands for it.
create view message_fates as
-- What made messages stand for is worked out within each compaction, so that nothing is joined or held in memory. In
-- order of messages, a pair of -1 (it is covered) is followed by one of each made message that stands for it.
with pairs as (
    select
        compaction_id,
        list_sort(
            list_transform(covered, lambda place: struct_pack(seq := place, made := -1))
            || flatten(
                list_transform(
                    made,
                    lambda one: list_transform(
                        one.covers, lambda place: struct_pack(seq := place, made := one.position)
                    )
                )
            )
        ) as sorted
    from compactions
),

covered as (
    select
        compaction_id,
        unnest(
            list_filter(
                list_zip(sorted[2:], sorted, true), lambda two: two[2] = struct_pack(seq := two[1].seq, made := -1)
            )
        )[1] as pair
    from pairs
)

select
    compaction_id,  -- Compaction
    unnest(kept) as seq,  -- Position of the message in its session
    'kept' as fate,  -- kept, edited, covered or dropped
    cast(null as integer) as covered_by  -- Position in the compacted context of the first made message that stands for
    -- it; NULL unless covered
from compactions
union all
select
    compaction_id,
    unnest(edited) as seq,
    'edited' as fate,
    null as covered_by
from compactions
union all
select
    compaction_id,
    pair.seq,
    'covered' as fate,
    pair.made as covered_by
from covered
union all
select
    compaction_id,
    unnest(dropped) as seq,
    'dropped' as fate,
    null as covered_by
from compactions;
