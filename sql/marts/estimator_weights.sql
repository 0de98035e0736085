-- One row per judge × method × dimension: what the dimension weighs in the method's overall, and what that changes.
--
-- overall is the mean of per-answer overalls, and an answer's overall the unweighted mean of its k scored dimensions.
-- So a dimension weighs, over N answers, sum(1 / k) / N over the answers that have it: little where few probe types ask
-- for it, much where few others are asked with it. In overall_of_dimensions each of D dimensions weighs 1 / D. Exactly:
--   overall - overall_of_dimensions = sum over dimensions of difference_by_weight + difference_by_answers
-- where the first is (weight - 1 / D) × mean. The second is there because answers of few dimensions count more towards
-- a dimension in overall than in its own mean: weight × (mean_in_overall - mean).
create view estimator_weights as
with shares as (
    select
        judge_id,
        method_id,
        dimension,
        score,
        1 / count(*) over (partition by judge_id, answer_id) as share
    from int_answer_scores
    where dimension <> 'overall' and is_in_overall(dimension)
),

figures as (
    select
        judge_id,
        method_id,
        dimension,
        count(*) as n_answers,
        avg(score) as mean,
        sum(share * score) / sum(share) as mean_in_overall,
        sum(share) as share_sum
    from shares
    group by judge_id, method_id, dimension
),

weighed as (
    select
        judge_id,
        method_id,
        dimension,
        n_answers,
        mean,
        mean_in_overall,
        share_sum / sum(share_sum) over (partition by judge_id, method_id) as weight,
        1 / count(*) over (partition by judge_id, method_id) as weight_of_dimensions
    from figures
)

select
    weighed.judge_id,
    judges.judge,
    stg_methods.method,
    weighed.dimension,
    weighed.weight,
    weighed.weight_of_dimensions,
    weighed.mean,
    weighed.mean_in_overall,
    (weighed.weight - weighed.weight_of_dimensions) * weighed.mean as difference_by_weight,
    weighed.weight * (weighed.mean_in_overall - weighed.mean) as difference_by_answers,
    weighed.n_answers,
    weighed.method_id,
    stg_methods.is_current
from weighed
inner join stg_methods on weighed.method_id = stg_methods.method_id
left join judges on weighed.judge_id = judges.judge_id
order by judges.judge, weighed.judge_id, stg_methods.method, weighed.dimension;

comment on column estimator_weights.judge_id is 'Judge version';
comment on column estimator_weights.judge is 'embedded (no language model) or the spec of a model';
comment on column estimator_weights.method is 'Name of the method';
comment on column estimator_weights.dimension is 'Dimension of the rubric';
comment on column estimator_weights.weight is
'Weight of the dimension in overall, 0 to 1; the weights of a method add up to 1';
comment on column estimator_weights.weight_of_dimensions is
'Weight of the dimension in overall_of_dimensions: 1 / number of dimensions that the method has scores for';
comment on column estimator_weights.mean is 'Mean over the answers that have the dimension, 0 to 5';
comment on column estimator_weights.mean_in_overall is
'The same mean as it counts in overall: each answer by 1 / number of its scored dimensions, 0 to 5';
comment on column estimator_weights.difference_by_weight is
'Part of overall less overall_of_dimensions that comes from the weight of the dimension';
comment on column estimator_weights.difference_by_answers is
'Part of it that comes from which answers count for the dimension; 0 where all have the same number of dimensions';
comment on column estimator_weights.n_answers is 'Answers that have the dimension';
comment on column estimator_weights.method_id is 'Identity of the method';
comment on column estimator_weights.is_current is 'Whether the newest run of the study asks for the method';
