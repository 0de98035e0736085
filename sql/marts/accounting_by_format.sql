-- One row per log format × kind: the sums of `accounting`.
create view accounting_by_format as
select
    coalesce(source_format, 'no known format') as source_format,  -- Log format, or no known format
    kind,  -- Role of the messages (a tool result has the role tool), or tool_call
    count(distinct input_path) as n_inputs,  -- Files and event folders
    cast(sum(n_met) as bigint) as n_met,  -- How many they hold
    cast(sum(n_stored) as bigint) as n_stored,
    cast(sum(n_set_aside) as bigint) as n_set_aside,  -- How many are deliberately not stored
    cast(sum(n_folded) as bigint) as n_folded,
    cast(sum(n_unaccounted) as bigint) as n_unaccounted  -- What is missing; 0 unless something was lost
from agg_accounting
group by source_format, kind
order by
    source_format,
    list_position(['system', 'user', 'assistant', 'tool', 'tool_call'], kind);
