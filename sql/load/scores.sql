-- One row per answer × judge × judge replicate × criterion, of the answers and judges that are shown.
--
-- A verdict that failed and was asked for again stands in two shards until the next run clears them up; what came of
-- it the second time holds. Failed ones are few, and most row groups have none, so that looking for them is cheap.
with failed as (
    select distinct
        answer_id,
        judge_id,
        judge_replicate
    from shard_scores
    where status = 'failed'
),

superseded as (
    select distinct
        shard_scores.answer_id,
        shard_scores.judge_id,
        shard_scores.judge_replicate,
        'failed' as status
    from shard_scores
    semi join failed
        on
            shard_scores.answer_id = failed.answer_id
            and shard_scores.judge_id = failed.judge_id
            and shard_scores.judge_replicate = failed.judge_replicate
    where shard_scores.status <> 'failed'
)

select shard_scores.*
from shard_scores
semi join answers on shard_scores.answer_id = answers.answer_id
semi join judges on shard_scores.judge_id = judges.judge_id
anti join superseded
    on
        shard_scores.answer_id = superseded.answer_id
        and shard_scores.judge_id = superseded.judge_id
        and shard_scores.judge_replicate = superseded.judge_replicate
        and shard_scores.status = superseded.status
