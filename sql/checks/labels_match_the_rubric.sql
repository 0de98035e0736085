-- People label criteria that a rubric of the store has.
select
    human_scores.answer_id,
    human_scores.rater,
    human_scores.criterion
from human_scores
anti join criteria on human_scores.criterion = criteria.criterion
