-- One row per log format × kind: the sums of `accounting`.
create view accounting_by_format as
select
    coalesce(source_format, 'no known format') as source_format,
    kind,
    count(distinct input_path) as n_inputs,
    cast(sum(n_met) as bigint) as n_met,
    cast(sum(n_stored) as bigint) as n_stored,
    cast(sum(n_set_aside) as bigint) as n_set_aside,
    cast(sum(n_folded) as bigint) as n_folded,
    cast(sum(n_unaccounted) as bigint) as n_unaccounted
from agg_accounting
group by source_format, kind
order by
    source_format,
    list_position(['system', 'user', 'assistant', 'tool', 'tool_call'], kind);

comment on column accounting_by_format.source_format is 'Log format, or no known format';
comment on column accounting_by_format.kind is 'Role of the messages (a tool result has the role tool), or tool_call';
comment on column accounting_by_format.n_inputs is 'Files and event folders';
comment on column accounting_by_format.n_met is 'How many they hold';
comment on column accounting_by_format.n_stored is 'How many of them the stored sessions hold';
comment on column accounting_by_format.n_set_aside is 'How many are deliberately not stored';
comment on column accounting_by_format.n_folded is
'How many belong to copies of sessions that are stored from elsewhere';
comment on column accounting_by_format.n_unaccounted is 'What is missing; 0 unless something was lost';
