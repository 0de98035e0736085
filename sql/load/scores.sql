-- One row per answer × judge × judge replicate × criterion, of the answers and judges that are shown.
select shard_scores.*
from shard_scores
semi join answers on shard_scores.answer_id = answers.answer_id
semi join judges on shard_scores.judge_id = judges.judge_id
anti join superseded_scores using (answer_id, judge_id, judge_replicate, status)
