-- One row per message of a session that is shown, with its texts as they are stored, secrets masked.
--
-- The texts stay in the files of the store. `compaction-eval sql` and `open_results` read them wherever the store is.
-- In DuckDB itself this view reads them where the store was when the database was made; after a move `compaction-eval
-- rebuild` sets that right. Those of an object store are for the former alone.
create view messages as
select
    stored.session_id,  -- Session that it belongs to
    stored.seq,  -- Position in the session, from 0
    stored.role,
    stored.text,  -- What it says, secrets masked
    stored.reasoning,  -- What the model thought, where the log has it; secrets masked
    stored.tool_calls,  -- Calls that it makes: id, name, and arguments as JSON text
    stored.tool_call_id,
    stored.tool_name,
    stored.is_error,
    stored.tokens,
    stored.source_ref,  -- Where it stands in the log: file and line or index
    stored.timestamp  -- When it was written, as the log says; NULL where it does not
from message_rows() as stored
semi join sessions on stored.session_id = sessions.session_id;
