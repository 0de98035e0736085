-- One row per answer × judge × judge replicate that a language model judged, of the answers and judges that are shown.
--
-- What it stated beside its scores stands in the row of each criterion.
select distinct
    shard_scores.answer_id,
    shard_scores.judge_id,
    shard_scores.judge_replicate,
    shard_scores.stated_overall,
    shard_scores.stated_dimensions,
    shard_scores.asked_again
from shard_scores
semi join answers on shard_scores.answer_id = answers.answer_id
semi join judges on shard_scores.judge_id = judges.judge_id
where shard_scores.asked_again is not null
