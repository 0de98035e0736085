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

comment on column stg_scores.answer_id is 'Answer that was judged';
comment on column stg_scores.judge_id is 'Judge version';
comment on column stg_scores.judge_replicate is 'Number of the repetition of the judging';
comment on column stg_scores.dimension is 'Dimension of the criterion';
comment on column stg_scores.criterion is 'Criterion that was judged';
comment on column stg_scores.score is '0 to 5; NULL when unscored';
comment on column stg_scores.unscored_reason is 'Why there is no score; NULL when there is one';
comment on column stg_scores.weight is 'Weight of the criterion within its dimension';
