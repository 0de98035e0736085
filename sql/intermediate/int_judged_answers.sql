-- One row per judge × done answer that the judge was given, whether it gave a score or not.
create view int_judged_answers as
select
    stg_scores.judge_id,
    stg_scores.answer_id,  -- Answer
    stg_answers.method_id,
    (select m.method from stg_methods as m where m.method_id = stg_answers.method_id) as method,
    stg_answers.session_id,
    bool_or(stg_scores.score is not null) as is_scored,  -- Whether the judge gave it a score on at least one criterion
    count(*) filter (where stg_scores.score is null) as n_unscored_criteria  -- Criteria, over all replicates, without a
    -- score
from stg_scores
inner join stg_answers on stg_scores.answer_id = stg_answers.answer_id
where stg_answers.status = 'done'
group by stg_scores.judge_id, stg_scores.answer_id, stg_answers.method_id, stg_answers.session_id;
