-- One row per judge × anchor answer × day of taking × dimension (and 'overall'): the answer's score at the judge's
-- first taking of it, and how far it has moved since.
--
-- The difference is taken criterion by criterion, of those that both takings scored, and only then averaged, so that a
-- judge that gives the same scores has moved by 0 and not by what rounding leaves.
create view int_anchor_shifts as
with first_taken as (
    select
        judge_id,
        answer_id,
        min(taken_on) as taken_on
    from anchor_scores
    where score is not null
    group by judge_id, answer_id
),

per_dimension as (
    select
        later.judge_id,
        later.answer_id,
        later.taken_on,
        first_taken.taken_on as first_taken_on,
        later.dimension,
        sum(first_one.score * coalesce(criteria.weight, 1.0)) / sum(coalesce(criteria.weight, 1.0)) as first_score,
        sum((later.score - first_one.score) * coalesce(criteria.weight, 1.0))
        / sum(coalesce(criteria.weight, 1.0)) as shift
    from anchor_scores as later
    inner join first_taken on later.judge_id = first_taken.judge_id and later.answer_id = first_taken.answer_id
    inner join anchor_scores as first_one
        on
            first_taken.judge_id = first_one.judge_id
            and first_taken.answer_id = first_one.answer_id
            and first_taken.taken_on = first_one.taken_on
            and later.criterion = first_one.criterion
    left join judges on later.judge_id = judges.judge_id
    left join criteria on judges.rubric = criteria.rubric and later.criterion = criteria.criterion
    where later.score is not null and first_one.score is not null
    group by later.judge_id, later.answer_id, later.taken_on, first_taken.taken_on, later.dimension
),

with_overall as (
    select * from per_dimension
    union all
    select
        judge_id,
        answer_id,
        taken_on,
        first_taken_on,
        'overall' as dimension,
        avg(first_score) as first_score,
        avg(shift) as shift
    from per_dimension
    where is_in_overall(dimension)
    group by judge_id, answer_id, taken_on, first_taken_on
)

select
    with_overall.judge_id,
    with_overall.answer_id,  -- Answer
    with_overall.taken_on,  -- Day of the taking, in UTC
    with_overall.first_taken_on,  -- Day of the answer's first taking
    with_overall.dimension,
    with_overall.first_score,  -- Its score then, 0 to 5
    with_overall.shift,  -- Score on the day less the first one
    stg_answers.session_id
from with_overall
inner join stg_answers on with_overall.answer_id = stg_answers.answer_id;
