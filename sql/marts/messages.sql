-- One row per message of a session that is shown, with its texts as they are stored, secrets masked.
--
-- The texts stay in the files of the store. `compaction-eval sql` and `open_results` read them wherever the store is.
-- In DuckDB itself this view reads them where the store was when the database was made; after a move `compaction-eval
-- rebuild` sets that right. Those of an object store are for the former alone.
create view messages as
select
    stored.session_id,
    stored.seq,
    stored.role,
    stored.text,
    stored.reasoning,
    stored.tool_calls,
    stored.tool_call_id,
    stored.tool_name,
    stored.is_error,
    stored.tokens,
    stored.source_ref,
    stored.timestamp
from message_rows() as stored
semi join sessions on stored.session_id = sessions.session_id;

comment on column messages.session_id is 'Session that it belongs to';
comment on column messages.seq is 'Position in the session, from 0';
comment on column messages.role is 'system, user, assistant or tool';
comment on column messages.text is 'What it says, secrets masked';
comment on column messages.reasoning is 'What the model thought, where the log has it; secrets masked';
comment on column messages.tool_calls is 'Calls that it makes: id, name, and arguments as JSON text';
comment on column messages.tool_call_id is 'Call that it is the result of; NULL for other messages';
comment on column messages.tool_name is 'Tool that it is the result of; NULL for other messages';
comment on column messages.is_error is 'Whether the tool reported an error';
comment on column messages.tokens is 'Tokens, by the store''s tokenizer';
comment on column messages.source_ref is 'Where it stands in the log: file and line or index';
comment on column messages.timestamp is 'When it was written, as the log says; NULL where it does not';
