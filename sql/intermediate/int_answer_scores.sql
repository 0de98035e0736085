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

comment on column int_answer_scores.judge_id is 'Judge version';
comment on column int_answer_scores.answer_id is 'Answer';
comment on column int_answer_scores.dimension is 'Dimension of the rubric, or overall';
comment on column int_answer_scores.score is '0 to 5: mean over the judge''s replicates';
comment on column int_answer_scores.method_id is 'Identity of the method';
comment on column int_answer_scores.probe_id is 'Question';
comment on column int_answer_scores.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column int_answer_scores.point_id is 'Compaction point';
comment on column int_answer_scores.cycle is 'Number of the point in its session, from 1';
comment on column int_answer_scores.session_id is 'Session';
comment on column int_answer_scores.task_type is 'Kind of work of the session; unknown where the session has none';
comment on column int_answer_scores.length is 'Length of the session: short, medium or long';
