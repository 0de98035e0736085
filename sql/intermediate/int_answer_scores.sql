-- One row per judge × done answer × dimension with a score, and one more with the dimension 'overall'.
--
-- A dimension is the weighted mean of its scored criteria, then the mean over the judge's replicates. Overall is the
-- unweighted mean of the dimensions that are scored for the answer and in overall (`is_in_overall`): an answer to a
-- constraint's question has none. What is unscored is left out, never 0.
create view int_answer_scores as
with per_dimension as (
    select
        judge_id,
        answer_id,
        dimension,
        avg(score) as score
    from stg_dimension_scores
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
    where is_in_overall(dimension)
    group by judge_id, answer_id
)

select
    with_overall.judge_id,
    with_overall.answer_id,  -- Answer
    with_overall.dimension,
    with_overall.score,  -- 0 to 5: mean over the judge's replicates
    stg_answers.method_id,
    (select any_value(m.method) from stg_methods as m where m.method_id = stg_answers.method_id) as method,
    stg_answers.probe_id,
    stg_answers.probe_type,
    stg_answers.point_id,  -- Compaction point
    stg_answers.cycle,  -- Number of the point in its session, from 1
    stg_answers.session_id,
    stg_answers.task_type,
    stg_answers.length  -- Length of the session: short, medium or long
from with_overall
inner join stg_answers on with_overall.answer_id = stg_answers.answer_id
where stg_answers.status = 'done';
