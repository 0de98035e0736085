-- One row per input × kind: messages in the file = messages stored + messages set aside; and calls likewise.
--
-- n_met is counted by the reader while it walks through the file, n_stored from the sessions that are in the store.
-- n_folded are those of sessions that are stored as part of another one (`folded_sessions`). What could not be read at
-- all is no message here: `quarantine` has it.
create view accounting as
select
    input_path,
    source_format,  -- Log format that was detected; NULL when none was
    kind,  -- Role of the messages (a tool result has the role tool), or tool_call
    n_met,  -- How many the file holds
    n_stored,
    n_set_aside,  -- How many are deliberately not stored; `set_aside` says why
    n_folded,
    n_unaccounted  -- n_met - n_stored - n_set_aside - n_folded; 0 unless something was lost
from agg_accounting
order by
    input_path,
    list_position(['system', 'user', 'assistant', 'tool', 'tool_call'], kind);
