-- One row per judge × done answer × criterion that the judge was asked: the mean over its replicates, and the mean of
-- the answer's other criteria.
--
-- Of current methods only: those that the newest run of the study asks for.
create view int_criterion_answers as
with given as (
    select
        judge_id,
        answer_id,
        criterion,
        any_value(dimension) as dimension,
        round(avg(score), 9) as score
    from stg_scores
    group by judge_id, answer_id, criterion
),

whole_answers as (
    select
        judge_id,
        answer_id,
        sum(score) as score_sum,
        count(score) as n_scored
    from given
    group by judge_id, answer_id
)

select
    given.judge_id,
    given.answer_id,  -- Answer
    given.criterion,  -- Criterion
    given.dimension,
    given.score,  -- Mean over the judge's replicates, 0 to 5; NULL when unscored
    (whole_answers.score_sum - given.score) / nullif(whole_answers.n_scored - 1, 0) as rest,  -- Mean of the answer's
    -- other criteria; NULL where it has none
    stg_answers.method_id,
    (select m.method from stg_methods as m where m.method_id = stg_answers.method_id) as method,
    stg_answers.session_id,
    stg_answers.probe_id
from given
inner join whole_answers on given.judge_id = whole_answers.judge_id and given.answer_id = whole_answers.answer_id
inner join stg_answers on given.answer_id = stg_answers.answer_id
inner join methods on stg_answers.method_id = methods.method_id
where stg_answers.status = 'done' and methods.is_current;
