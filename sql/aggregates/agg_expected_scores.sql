-- One row per judge × method with a done answer: the verdicts that these answers call for, and what there is of them.
--
-- A verdict is all criteria of one answer by one replicate of the judge. Expected is one for every done answer and
-- every replicate that the store holds of the judge, and at least one.
--
-- Of current methods only: those that the newest run of the study asks for.
create view agg_expected_scores as
with verdicts as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        bool_or(score is not null) as is_scored
    from stg_scores
    group by judge_id, answer_id, judge_replicate
),

replicates as (
    select
        judges.judge_id,
        greatest(1, count(distinct verdicts.judge_replicate)) as n_replicates
    from judges
    left join verdicts on judges.judge_id = verdicts.judge_id
    group by judges.judge_id
),

done_answers as (
    select
        method_id,
        count(*) as n_answers
    from stg_answers
    where status = 'done'
    group by method_id
),

given as (
    select
        verdicts.judge_id,
        stg_answers.method_id,
        count(*) filter (where verdicts.is_scored) as n_done,
        count(*) filter (where not verdicts.is_scored) as n_unscored
    from verdicts
    inner join stg_answers on verdicts.answer_id = stg_answers.answer_id
    where stg_answers.status = 'done'
    group by verdicts.judge_id, stg_answers.method_id
)

select
    replicates.judge_id,
    done_answers.method_id,
    (select m.method from stg_methods as m where m.method_id = done_answers.method_id) as method,
    done_answers.n_answers * replicates.n_replicates as n_expected,  -- Verdicts that the method's done answers call for
    coalesce(given.n_done, 0) as n_done,  -- Verdicts with at least one score
    coalesce(given.n_unscored, 0) as n_unscored  -- Verdicts without any score
from replicates
cross join done_answers
inner join methods on done_answers.method_id = methods.method_id
left join given on replicates.judge_id = given.judge_id and done_answers.method_id = given.method_id
where methods.is_current;
