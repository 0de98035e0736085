-- One row per statement × context that a person is asked to grade next, in that order: of every method one statement by
-- lot, then the second of every method, and so on. Of a method at most 8 that the embedded engine finds in the context,
-- 8 that it finds in part, and 8 that it does not find, so that rare ones are asked too.
--
-- Parameters (variables):
--   seed       another one is another lot
--   graded     statements that are left out, as a list of their ids
with asked as (
    select
        compactions.method_id,
        states.state in ('readable', 'partly') as is_found,
        states.state = 'partly' as is_in_part,
        concat_ws(':', states.compaction_id, states.probe_id, states.position) as statement_id,
        hash(getvariable('seed'), states.compaction_id, states.probe_id, states.position) as lot
    from statement_states as states
    inner join compactions on states.compaction_id = compactions.compaction_id
    inner join stg_methods on compactions.method_id = stg_methods.method_id
    where states.state <> 'unknown' and stg_methods.is_current and not stg_methods.is_control
),

drawn as (
    select
        method_id,
        unnest(arg_min(struct_pack(statement_id := statement_id, lot := lot), lot, 8)) as one
    from asked
    where statement_id not in (select unnest(getvariable('graded')))
    group by method_id, is_found, is_in_part
)

select one.statement_id
from drawn
order by row_number() over (partition by method_id order by one.lot), one.lot
