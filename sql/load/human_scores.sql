-- One row per answer × rater × criterion, of the answers that are shown.
select shard_labels.*
from shard_labels
semi join answers on shard_labels.answer_id = answers.answer_id
