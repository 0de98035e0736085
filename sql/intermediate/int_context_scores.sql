-- One row per judge × dimension (and 'overall') × current method × question × context: the verdicts on its answers.
--
-- A repetition counts once where it is a copy: two compactions of a method at a point that left equal contexts send the
-- same request for the same repetition of the answer, and have one answer between them. So a row is a distinct context,
-- and n_answers are its answers without copies. varies is false where repeated compactions of the method at the point
-- left one context: it has no compaction variance there.
create view int_context_scores as
with verdicts_given as (
    select
        judge_id,
        answer_id,
        dimension,
        score
    from stg_dimension_scores
    union all
    select
        judge_id,
        answer_id,
        'overall' as dimension,
        avg(score) as score
    from stg_dimension_scores
    where is_in_overall(dimension)
    group by judge_id, answer_id, judge_replicate
),

of_answers as (
    select
        judge_id,
        answer_id,
        dimension,
        count(*) as n,
        avg(score) as mean,
        var_pop(score) * count(*) as ss_judge
    from verdicts_given
    group by judge_id, answer_id, dimension
),

-- Each answer once, whatever number of equal contexts it stands for.
draws as (
    select
        of_answers.judge_id,
        of_answers.dimension,
        stg_answers.method_id,
        stg_answers.session_id,
        stg_answers.point_id,
        stg_answers.probe_id,
        stg_answers.context_id,
        count(*) as n_copies,
        sum(of_answers.n) as n_verdicts,
        count(distinct stg_answers.compaction_id) as n_compactions,
        max({ 'n': of_answers.n, 'mean': of_answers.mean, 'ss_judge': of_answers.ss_judge }) as answer
    from of_answers
    inner join stg_answers on of_answers.answer_id = stg_answers.answer_id
    inner join methods on stg_answers.method_id = methods.method_id
    where stg_answers.status = 'done' and methods.is_current
    group by
        of_answers.judge_id, of_answers.dimension, stg_answers.method_id, stg_answers.session_id,
        stg_answers.point_id, stg_answers.probe_id, stg_answers.context_id, stg_answers.answer_replicate
),

-- Whether the contexts of a method at a point differ from repetition to repetition; where it was made once there, as
-- they do elsewhere.
made as (
    select
        method_id,
        point_id,
        count(*) as n_made,
        count(distinct coalesce(same_context_as, compaction_id)) as n_contexts
    from compactions
    where status = 'done'
    group by method_id, point_id
),

variable as (
    select
        method_id,
        point_id,
        case
            when n_made > 1 then n_contexts > 1
            when max(n_made) over (partition by method_id) > 1 then max(n_contexts) over (partition by method_id) > 1
            else true
        end as varies
    from made
)

select
    draws.judge_id,
    draws.dimension,
    draws.method_id,
    (select m.method from stg_methods as m where m.method_id = draws.method_id) as method,
    draws.session_id,
    draws.point_id,  -- Compaction point
    draws.probe_id,
    draws.context_id,  -- First compaction of the method at the point with this context
    sum(draws.answer.n) as n,  -- Verdicts on its answers, without copies
    count(*) as n_answers,  -- Answers, without copies
    sum(draws.n_copies) as n_answers_made,  -- Answers, copies included
    sum(draws.n_verdicts) as n_verdicts_made,  -- Verdicts, those on copies included
    max(draws.n_compactions) as n_compactions_made,  -- Compactions that left the context
    sum(draws.answer.n ** 2) as n_square_answers,  -- Sum over the answers of the square of their verdicts' number
    sum(draws.answer.n * draws.answer.mean) / sum(draws.answer.n) as mean,  -- Mean of the verdicts, 0 to 5
    sum(draws.answer.ss_judge) as ss_judge,  -- Sum of squares of the verdicts about their answer's mean
    sum(draws.answer.n * draws.answer.mean ** 2)
    - sum(draws.answer.n * draws.answer.mean) ** 2 / sum(draws.answer.n) as ss_answer,  -- Sum of squares of the answers
    -- about their context's mean, each times its verdicts
    any_value(variable.varies) as varies  -- Whether contexts of the method at the point differ from repetition to
    -- repetition; as elsewhere where made once
from draws
inner join variable on draws.method_id = variable.method_id and draws.point_id = variable.point_id
group by
    draws.judge_id, draws.dimension, draws.method_id, draws.session_id, draws.point_id, draws.probe_id,
    draws.context_id;
