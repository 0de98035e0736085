-- One row per sample × answer, of the answers that are shown.
select shard_label_samples.*
from shard_label_samples
semi join answers on shard_label_samples.answer_id = answers.answer_id
