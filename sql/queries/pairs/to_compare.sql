-- One row per question × pair of methods that both have an answer to it, in an order that says nothing of either.
--
-- Parameters (variables):
--   methods   names of the methods
with given as (
    select
        stg_answers.session_id,
        stg_answers.probe_id,
        stg_methods.method,
        stg_answers.answer_id,
        answers.text
    from stg_answers
    inner join answers on stg_answers.answer_id = answers.answer_id
    inner join stg_methods on stg_answers.method_id = stg_methods.method_id
    where stg_answers.status = 'done' and list_contains(getvariable('methods'), stg_methods.method)
    qualify row_number() over (
        partition by stg_answers.probe_id, stg_methods.method
        order by stg_answers.compaction_replicate, stg_answers.answer_replicate, stg_answers.answer_id
    ) = 1
)

select
    a.session_id,
    a.probe_id,
    a.method as method_a,
    b.method as method_b,
    a.answer_id as answer_a,
    b.answer_id as answer_b,
    a.text = b.text as is_same
from given as a
inner join given as b on a.probe_id = b.probe_id and a.method < b.method
order by sha256(a.probe_id), method_a, method_b
