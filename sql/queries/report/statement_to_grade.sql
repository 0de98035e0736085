-- One row: a statement that was looked for in the context of a compaction; none for an id of nothing.
--
-- Parameters (variables):
--   statement_id   compaction, probe and place of the statement in the probe, with colons between
with wanted as (
    select
        split_part(getvariable('statement_id'), ':', 1) as compaction_id,
        split_part(getvariable('statement_id'), ':', 2) as probe_id,
        try_cast(split_part(getvariable('statement_id'), ':', 3) as integer) as position
)

select
    states.compaction_id,
    states.session_id,
    probes.statements ->> ('$[' || (states.position - 1) || '].kind') as kind,
    probes.statements ->> ('$[' || (states.position - 1) || '].text') as text,
    cast(probes.statements -> ('$[' || (states.position - 1) || '].evidence') as integer[]) as evidence
from statement_states as states
inner join wanted
    on
        states.compaction_id = wanted.compaction_id
        and states.probe_id = wanted.probe_id
        and states.position = wanted.position
inner join probes on states.probe_id = probes.probe_id
