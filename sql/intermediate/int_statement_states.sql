-- One row per measured compaction × statement that was looked for in its context.
--
-- The age is the number of cycles between the point whose probe stated it first and the point of the context.
create view int_statement_states as
with stated as (
    select
        probe_id,
        point_id,
        json_extract_string(statements, '$[*].kind') as kinds
    from probes
)

select
    statement_states.compaction_id,  -- Compaction
    stg_measures.method_id,
    (select m.method from stg_methods as m where m.method_id = stg_measures.method_id) as method,
    stg_measures.session_id,
    statement_states.probe_id,
    statement_states.position,  -- Number of the statement in its probe
    stg_measures.cycle - points.cycle as age,  -- Cycles since the point that stated it first
    stated.kinds[statement_states.position] as kind,  -- Kind of statement
    statement_states.state,  -- readable, partly, stale, contradicted, lost, unknown
    statement_states.support  -- How far it can be read, 0–1; NULL: unknown
from statement_states
inner join stg_measures on statement_states.compaction_id = stg_measures.compaction_id
inner join stated on statement_states.probe_id = stated.probe_id
inner join stated as first_stated on statement_states.since = first_stated.probe_id
inner join points on first_stated.point_id = points.point_id;
