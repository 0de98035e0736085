-- One row per answer × judge × judge replicate that failed and was asked for again, and has its verdict.
--
-- Such a verdict stands in two shards until the next run clears them up; what came of it the second time holds. Failed
-- ones are few, and most row groups have none, so that looking for them is cheap.
with failed as (
    select distinct
        answer_id,
        judge_id,
        judge_replicate
    from shard_scores
    where status = 'failed'
)

select distinct
    shard_scores.answer_id,
    shard_scores.judge_id,
    shard_scores.judge_replicate,
    'failed' as status
from shard_scores
semi join failed using (answer_id, judge_id, judge_replicate)
where shard_scores.status <> 'failed'
