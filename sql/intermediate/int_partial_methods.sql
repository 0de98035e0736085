-- One row per judge × current method that is not applicable at some points, where others of the judge's are.
--
-- Such a partial method (`recorded`, where the agent had not compacted yet) is asked other questions than the rest.
create view int_partial_methods as
with scored as (
    select distinct
        judge_id,
        method_id
    from int_answer_scores
    where dimension = 'overall'
),

partial_methods as (
    select distinct method_id
    from compactions
    where status = 'not_applicable'
)

select
    scored.judge_id,
    scored.method_id,
    stg_methods.method
from scored
inner join stg_methods on scored.method_id = stg_methods.method_id
left join partial_methods on scored.method_id = partial_methods.method_id
where stg_methods.is_current
qualify
    partial_methods.method_id is not null
    and bool_or(partial_methods.method_id is null) over (partition by scored.judge_id);
