-- Repetitions are numbered without holes: those of compactions, of answers, and of every judge.
with numbers as (
    select
        'compactions' as table_name,
        null as judge_id,
        replicate
    from compactions
    union all
    select
        'answers' as table_name,
        null as judge_id,
        replicate
    from answers
    union all
    select
        'scores' as table_name,
        judge_id,
        judge_replicate as replicate
    from scores
)

select
    table_name,
    judge_id,
    max(replicate) - min(replicate) + 1 as n_expected,
    count(distinct replicate) as n_found
from numbers
group by table_name, judge_id
having max(replicate) - min(replicate) + 1 <> count(distinct replicate)
