-- One row per judge × answer × judge replicate × dimension with a score: the weighted mean of its scored criteria.
--
-- A criterion that its rubric does not list weighs 1, as in `stg_scores`.
create view stg_dimension_scores as
select
    scores.judge_id,
    scores.answer_id,  -- Answer that was judged
    scores.judge_replicate,
    scores.dimension,  -- Dimension of the rubric
    sum(scores.score * coalesce(criteria.weight, 1.0)) / sum(coalesce(criteria.weight, 1.0)) as score  -- 0 to 5
from scores
left join judges on scores.judge_id = judges.judge_id
left join criteria on judges.rubric = criteria.rubric and scores.criterion = criteria.criterion
where scores.score is not null
group by scores.judge_id, scores.answer_id, scores.judge_replicate, scores.dimension;
