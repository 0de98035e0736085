-- One row per judge × done answer × dimension with a score, and one more with the dimension 'overall'.
--
-- A dimension is the weighted mean of its scored criteria, then the mean over the judge's replicates. Overall is the
-- unweighted mean of the dimensions that are scored for the answer. What is unscored is left out, never 0.
create view int_answer_scores as
with per_replicate as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        dimension,
        sum(score * weight) / sum(weight) as score
    from stg_scores
    where score is not null
    group by judge_id, answer_id, judge_replicate, dimension
),

per_dimension as (
    select
        judge_id,
        answer_id,
        dimension,
        avg(score) as score
    from per_replicate
    group by judge_id, answer_id, dimension
),

with_overall as (
    select
        judge_id,
        answer_id,
        dimension,
        score
    from per_dimension
    union all
    select
        judge_id,
        answer_id,
        'overall' as dimension,
        avg(score) as score
    from per_dimension
    group by judge_id, answer_id
)

select
    with_overall.judge_id,
    with_overall.answer_id,
    with_overall.dimension,
    with_overall.score,
    stg_answers.method_id,
    stg_answers.probe_id,
    stg_answers.probe_type,
    stg_answers.point_id,
    stg_answers.cycle,
    stg_answers.session_id,
    stg_answers.task_type,
    stg_answers.length
from with_overall
inner join stg_answers on with_overall.answer_id = stg_answers.answer_id
where stg_answers.status = 'done';
