-- One row per pair of answers × order × judge version, of the answers that are shown; of one that was tried again, the
-- verdict.
with given as (
    select distinct
        comparison_id,
        'failed' as status
    from shard_comparisons
    where status <> 'failed'
)

select shard_comparisons.*
from shard_comparisons
semi join answers as of_a on shard_comparisons.answer_a = of_a.answer_id
semi join answers as of_b on shard_comparisons.answer_b = of_b.answer_id
anti join given using (comparison_id, status)
