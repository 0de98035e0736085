-- One row per measured compaction × fact that was looked for in its context.
--
-- The age is the number of cycles between the point whose probe stated the fact first and the point of the context.
create view int_fact_checks as
with checked as (
    select
        compaction_id,
        probe_id,
        unnest(positions) as position,
        unnest(stated) as is_stated
    from fact_checks
),

kinds as (
    select
        probe_id,
        point_id,
        json_extract_string(facts, '$[*].kind') as kinds
    from probes
)

select
    checked.compaction_id,
    stg_measures.method_id,
    stg_measures.session_id,
    checked.probe_id,
    checked.position,
    stg_measures.cycle - points.cycle as age,
    kinds.kinds[checked.position] as kind,
    checked.is_stated
from checked
inner join stg_measures on checked.compaction_id = stg_measures.compaction_id
inner join kinds on checked.probe_id = kinds.probe_id
inner join points on kinds.point_id = points.point_id;

comment on column int_fact_checks.compaction_id is 'Compaction';
comment on column int_fact_checks.method_id is 'Identity of the method';
comment on column int_fact_checks.session_id is 'Session';
comment on column int_fact_checks.probe_id is 'Question';
comment on column int_fact_checks.position is 'Number of the fact in its probe';
comment on column int_fact_checks.age is 'Cycles since the point that stated the fact first';
comment on column int_fact_checks.kind is 'Kind of fact';
comment on column int_fact_checks.is_stated is 'Whether the context states it';
