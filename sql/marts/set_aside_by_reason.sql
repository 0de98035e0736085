-- One row per log format × kind × reason: what was deliberately not stored.
create view set_aside_by_reason as
select
    coalesce(inputs.source_format, 'no known format') as source_format,  -- Log format, or no known format
    set_aside.kind,  -- Role of the messages, tool_call, or record for what never was a message
    set_aside.reason,  -- Why they are not stored; docs/formats.md explains each
    count(distinct set_aside.input_path) as n_inputs,  -- Files and event folders where that happened
    cast(sum(set_aside.n_set_aside) as bigint) as n_set_aside  -- How many were set aside
from set_aside
inner join inputs on set_aside.input_path = inputs.input_path
group by inputs.source_format, set_aside.kind, set_aside.reason
order by inputs.source_format asc nulls last, set_aside.kind asc, n_set_aside desc, set_aside.reason asc;
