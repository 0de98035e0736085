-- One row per log format × kind × reason: what was deliberately not stored.
create view set_aside_by_reason as
select
    coalesce(inputs.source_format, 'no known format') as source_format,
    set_aside.kind,
    set_aside.reason,
    count(distinct set_aside.input_path) as n_inputs,
    cast(sum(set_aside.n_set_aside) as bigint) as n_set_aside
from set_aside
inner join inputs on set_aside.input_path = inputs.input_path
group by inputs.source_format, set_aside.kind, set_aside.reason
order by inputs.source_format asc nulls last, set_aside.kind asc, n_set_aside desc, set_aside.reason asc;

comment on column set_aside_by_reason.source_format is 'Log format, or no known format';
comment on column set_aside_by_reason.kind is
'Role of the messages, tool_call, or record for what never was a message';
comment on column set_aside_by_reason.reason is 'Why they are not stored; docs/formats.md explains each';
comment on column set_aside_by_reason.n_inputs is 'Files and event folders where that happened';
comment on column set_aside_by_reason.n_set_aside is 'How many were set aside';
