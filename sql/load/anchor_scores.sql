-- One row per answer × judge × day × criterion, of the answers and judges that are shown.
select shard_anchor_scores.*
from shard_anchor_scores
semi join answers on shard_anchor_scores.answer_id = answers.answer_id
semi join judges on shard_anchor_scores.judge_id = judges.judge_id
