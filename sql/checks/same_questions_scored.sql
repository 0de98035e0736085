-- A judge's figures rest on the same probes for every method that it scored.
with scored as (
    select distinct
        judge_id,
        method_id,
        probe_id
    from int_answer_scores
    where dimension = 'overall'
),

judge_methods as (
    select distinct
        judge_id,
        method_id
    from scored
),

judge_probes as (
    select distinct
        judge_id,
        probe_id
    from scored
)

select
    judge_methods.judge_id,
    judge_methods.method_id,
    judge_probes.probe_id
from judge_methods
inner join judge_probes on judge_methods.judge_id = judge_probes.judge_id
anti join scored
    on
        judge_methods.judge_id = scored.judge_id
        and judge_methods.method_id = scored.method_id
        and judge_probes.probe_id = scored.probe_id
