-- One row per measured compaction × statement that its context does not tell as it is: lost, stale or contradicted.
--
-- `compaction-eval lost` says the same of one log, with what is still told. What is told in part is not here; table
-- `statement_states` has every state.
create view lost_statements as
with stated as (
    select
        probe_id,
        probe_type,
        generate_subscripts(json_extract(statements, '$[*]'), 1) as position,
        unnest(json_extract(statements, '$[*]')) as statement
    from probes
),

gone as (
    select
        states.compaction_id,
        measured.point_id,
        states.probe_id,
        states.position,
        stated.probe_type,
        stated.statement ->> '$.kind' as kind,
        stated.statement ->> '$.text' as text,
        cast(stated.statement -> '$.evidence' as integer[]) as evidence,
        stated.statement ->> '$.exact[*]' as exact,
        cast(stated.statement ->> '$.needed_at' as integer) as needed_at,
        states.state,
        states.support,
        states.with_fetched,
        states.lines
    from statement_states as states
    inner join stg_measures as measured on states.compaction_id = measured.compaction_id
    inner join stated on states.probe_id = stated.probe_id and states.position = stated.position
    where states.state in ('lost', 'stale', 'contradicted')
),

used as (
    select
        gone.point_id,
        gone.probe_id,
        gone.position,
        min(needs.needed_at) as needed_at
    from gone
    inner join needs on gone.point_id = needs.point_id
    where makes_use_of(needs.kind, needs.value, gone.kind, gone.text, gone.exact)
    group by gone.point_id, gone.probe_id, gone.position
)

select
    points.session_id,
    points.cycle,  -- Number of the point in its session, from 1
    stg_methods.method,
    gone.kind,  -- Kind of statement: constraint, decision, open_task, file_modified, error …
    gone.text,  -- The statement; of a file its path
    gone.state,  -- lost; stale: the context says later what held before; contradicted: it says the opposite
    gone.evidence[-1] as stated_at,  -- The latest message before the point that proves it (seq)
    least(if(gone.needed_at >= points.cut_seq, gone.needed_at, null), used.needed_at) as needed_at,  -- The first
    -- message after the point that is known to make use of it (seq); NULL where none is known
    gone.lines,  -- The lines of the context that say most of it, shortened
    gone.support,  -- How far the context still says it, 0–1
    gone.with_fetched,  -- The same with what the method fetches for the question; NULL where it fetches nothing
    gone.evidence,  -- Every message that proves it (seq)
    gone.probe_type,
    gone.probe_id,  -- Question that has the statement in its true answer
    gone.position,  -- Number of the statement in its probe
    gone.point_id,  -- Compaction point
    gone.compaction_id,  -- Compaction
    compactions.replicate,  -- Number of the repetition of the compaction
    stg_methods.method_id,
    stg_methods.is_current
from gone
inner join compactions on gone.compaction_id = compactions.compaction_id
inner join points on gone.point_id = points.point_id
inner join stg_methods on compactions.method_id = stg_methods.method_id
left join used on gone.point_id = used.point_id and gone.probe_id = used.probe_id and gone.position = used.position
order by points.session_id, points.cycle, stg_methods.method, compactions.replicate, gone.probe_id, gone.position;
