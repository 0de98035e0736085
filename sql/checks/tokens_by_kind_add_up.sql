-- The tokens of a compaction are those of its kinds of message, before and after.
with sums as (
    select
        compaction_id,
        tokens_before,
        before_by_kind.system + before_by_kind.user + before_by_kind.assistant + before_by_kind.tool
        + before_by_kind.made as before_of_kinds,
        tokens_after,
        after_by_kind.system + after_by_kind.user + after_by_kind.assistant + after_by_kind.tool
        + after_by_kind.made as after_of_kinds
    from compactions
)

select
    compaction_id,
    tokens_before,
    before_of_kinds,
    tokens_after,
    after_of_kinds
from sums
where tokens_before <> before_of_kinds or tokens_after <> after_of_kinds
