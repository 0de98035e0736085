-- A label that names a sample is of an answer that the sample drew.
select
    human_scores.answer_id,
    human_scores.rater,
    human_scores.criterion,
    human_scores.sample_id
from human_scores
anti join label_samples
    on human_scores.answer_id = label_samples.answer_id and human_scores.sample_id = label_samples.sample_id
where human_scores.sample_id is not null
