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
    coalesce(inputs.source_format, 'no known format') as source_format,  -- Log format, or no known format
    count(*) as n_inputs,  -- Files and event folders
    cast(sum(inputs.n_sessions - inputs.n_folded) as bigint) as n_sessions,  -- Sessions that are stored
    cast(sum(inputs.n_folded) as bigint) as n_copies,  -- Sessions that are stored as part of another one
    cast(sum(sums.messages) as bigint) as messages,  -- Messages of all roles that the files hold
    cast(sum(sums.stored) as bigint) as stored,  -- Messages of the stored sessions
    cast(sum(sums.set_aside) as bigint) as set_aside,  -- Messages that are deliberately not stored
    cast(sum(sums.in_copies) as bigint) as in_copies,  -- Messages of sessions that are stored as part of another one
    cast(sum(sums.calls) as bigint) as calls,  -- Tool calls that the files hold
    cast(sum(sums.calls_stored) as bigint) as calls_stored,  -- Tool calls of the stored sessions
    cast(sum(sums.results) as bigint) as results,  -- Tool results that the files hold
    cast(sum(sums.results_stored) as bigint) as results_stored,  -- Tool results of the stored sessions
    cast(sum(inputs.n_quarantined) as bigint) as n_quarantined,  -- Places that could not be read
    cast(sum(sums.n_unaccounted) as bigint) as n_unaccounted  -- Messages and calls of which nothing is known; 0 unless
    -- something was lost
from inputs
left join sums on inputs.input_path = sums.input_path
group by inputs.source_format
order by inputs.source_format nulls last;
