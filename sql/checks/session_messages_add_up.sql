-- The messages of a session are those of its four roles.
select
    session_id,
    n_messages,
    n_system + n_user + n_assistant + n_tool as n_messages_by_role
from sessions
where n_messages <> n_system + n_user + n_assistant + n_tool
