-- One row per score (answer × judge × judge replicate × criterion), with the weight of its criterion.
--
-- A criterion that its rubric does not list weighs 1; the check `scores_match_the_rubric` reports it.
create view stg_scores as
select
    scores.answer_id,
    scores.judge_id,
    scores.judge_replicate,
    scores.dimension,
    scores.criterion,
    scores.score,
    scores.unscored_reason,
    coalesce(criteria.weight, 1.0) as weight
from scores
left join judges on scores.judge_id = judges.judge_id
left join criteria on judges.rubric = criteria.rubric and scores.criterion = criteria.criterion;
