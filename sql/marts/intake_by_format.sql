-- One row per log format: files, sessions, messages met = stored + set aside + in copies, for calls and results too.
create view intake_by_format as
with sums as (
    select
        input_path,
        cast(sum(n_met) filter (where kind <> 'tool_call') as bigint) as messages,
        cast(sum(n_stored) filter (where kind <> 'tool_call') as bigint) as stored,
        cast(sum(n_set_aside) filter (where kind <> 'tool_call') as bigint) as set_aside,
        cast(sum(n_folded) filter (where kind <> 'tool_call') as bigint) as in_copies,
        cast(sum(n_met) filter (where kind = 'tool_call') as bigint) as calls,
        cast(sum(n_stored) filter (where kind = 'tool_call') as bigint) as calls_stored,
        cast(sum(n_met) filter (where kind = 'tool') as bigint) as results,
        cast(sum(n_stored) filter (where kind = 'tool') as bigint) as results_stored,
        cast(sum(abs(n_unaccounted)) as bigint) as n_unaccounted
    from agg_accounting
    group by input_path
)

select
    coalesce(inputs.source_format, 'no known format') as source_format,
    count(*) as n_inputs,
    cast(sum(inputs.n_sessions - inputs.n_folded) as bigint) as n_sessions,
    cast(sum(inputs.n_folded) as bigint) as n_copies,
    cast(sum(sums.messages) as bigint) as messages,
    cast(sum(sums.stored) as bigint) as stored,
    cast(sum(sums.set_aside) as bigint) as set_aside,
    cast(sum(sums.in_copies) as bigint) as in_copies,
    cast(sum(sums.calls) as bigint) as calls,
    cast(sum(sums.calls_stored) as bigint) as calls_stored,
    cast(sum(sums.results) as bigint) as results,
    cast(sum(sums.results_stored) as bigint) as results_stored,
    cast(sum(inputs.n_quarantined) as bigint) as n_quarantined,
    cast(sum(sums.n_unaccounted) as bigint) as n_unaccounted
from inputs
left join sums on inputs.input_path = sums.input_path
group by inputs.source_format
order by inputs.source_format nulls last;

comment on column intake_by_format.source_format is 'Log format, or no known format';
comment on column intake_by_format.n_inputs is 'Files and event folders';
comment on column intake_by_format.n_sessions is 'Sessions that are stored';
comment on column intake_by_format.n_copies is 'Sessions that are stored as part of another one';
comment on column intake_by_format.messages is 'Messages of all roles that the files hold';
comment on column intake_by_format.stored is 'Messages of the stored sessions';
comment on column intake_by_format.set_aside is 'Messages that are deliberately not stored';
comment on column intake_by_format.in_copies is 'Messages of sessions that are stored as part of another one';
comment on column intake_by_format.calls is 'Tool calls that the files hold';
comment on column intake_by_format.calls_stored is 'Tool calls of the stored sessions';
comment on column intake_by_format.results is 'Tool results that the files hold';
comment on column intake_by_format.results_stored is 'Tool results of the stored sessions';
comment on column intake_by_format.n_quarantined is 'Places that could not be read';
comment on column intake_by_format.n_unaccounted is
'Messages and calls of which nothing is known; 0 unless something was lost';
