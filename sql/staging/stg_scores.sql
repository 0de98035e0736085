-- One row per score (answer × judge × judge replicate × criterion), with the weight of its criterion.
--
-- A criterion that its rubric does not list weighs 1; the check `scores_match_the_rubric` reports it.
create view stg_scores as
select
    scores.answer_id,  -- Answer that was judged
    scores.judge_id,
    scores.judge_replicate,
    scores.dimension,  -- Dimension of the criterion
    scores.criterion,  -- Criterion that was judged
    scores.score,  -- 0 to 5; NULL when unscored
    scores.unscored_reason,
    coalesce(criteria.weight, 1.0) as weight  -- Weight of the criterion within its dimension
from scores
left join judges on scores.judge_id = judges.judge_id
left join criteria on judges.rubric = criteria.rubric and scores.criterion = criteria.criterion;
