-- A judge's figures rest on the same probes for every current method that it scored, where the method is applicable.
with scored as (
    select distinct
        judge_id,
        method_id,
        probe_id
    from int_answer_scores
    where
        dimension in ('overall', 'constraints')
        and method_id in (select methods.method_id from methods where methods.is_current)
),

judge_methods as (
    select distinct
        judge_id,
        method_id
    from scored
),

judge_probes as (
    select distinct
        scored.judge_id,
        scored.probe_id,
        probes.point_id
    from scored
    inner join probes on scored.probe_id = probes.probe_id
)

select
    judge_methods.judge_id,
    judge_methods.method_id,
    (select m.method from stg_methods as m where m.method_id = judge_methods.method_id) as method,
    judge_probes.probe_id
from judge_methods
inner join judge_probes on judge_methods.judge_id = judge_probes.judge_id
anti join scored
    on
        judge_methods.judge_id = scored.judge_id
        and judge_methods.method_id = scored.method_id
        and judge_probes.probe_id = scored.probe_id
anti join compactions
    on
        judge_methods.method_id = compactions.method_id
        and judge_probes.point_id = compactions.point_id
        and compactions.status = 'not_applicable'
