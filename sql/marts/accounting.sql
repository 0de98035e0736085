-- One row per input × kind: messages in the file = messages stored + messages set aside; and calls likewise.
--
-- n_met is counted by the reader while it walks through the file, n_stored from the sessions that are in the store.
-- n_folded are those of sessions that are stored as part of another one (`folded_sessions`). What could not be read at
-- all is no message here: `quarantine` has it.
create view accounting as
select
    input_path,
    source_format,
    kind,
    n_met,
    n_stored,
    n_set_aside,
    n_folded,
    n_unaccounted
from agg_accounting
order by
    input_path,
    list_position(['system', 'user', 'assistant', 'tool', 'tool_call'], kind);

comment on column accounting.input_path is 'Absolute path of the input';
comment on column accounting.source_format is 'Log format that was detected; NULL when none was';
comment on column accounting.kind is 'Role of the messages (a tool result has the role tool), or tool_call';
comment on column accounting.n_met is 'How many the file holds';
comment on column accounting.n_stored is 'How many of them the stored sessions hold';
comment on column accounting.n_set_aside is 'How many are deliberately not stored; `set_aside` says why';
comment on column accounting.n_folded is 'How many belong to copies of sessions that are stored from elsewhere';
comment on column accounting.n_unaccounted is 'n_met - n_stored - n_set_aside - n_folded; 0 unless something was lost';
