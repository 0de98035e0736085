-- One row per judge × done answer that the judge was given, whether it gave a score or not.
create view int_judged_answers as
select
    stg_scores.judge_id,
    stg_scores.answer_id,
    stg_answers.method_id,
    stg_answers.session_id,
    bool_or(stg_scores.score is not null) as is_scored,
    count(*) filter (where stg_scores.score is null) as n_unscored_criteria
from stg_scores
inner join stg_answers on stg_scores.answer_id = stg_answers.answer_id
where stg_answers.status = 'done'
group by stg_scores.judge_id, stg_scores.answer_id, stg_answers.method_id, stg_answers.session_id;

comment on column int_judged_answers.judge_id is 'Judge version';
comment on column int_judged_answers.answer_id is 'Answer';
comment on column int_judged_answers.method_id is 'Identity of the method';
comment on column int_judged_answers.session_id is 'Session';
comment on column int_judged_answers.is_scored is 'Whether the judge gave it a score on at least one criterion';
comment on column int_judged_answers.n_unscored_criteria is 'Criteria, over all replicates, without a score';
