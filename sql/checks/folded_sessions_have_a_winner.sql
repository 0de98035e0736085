-- Every session that is a copy is one of a session that is stored.
select
    folded_sessions.recorded_id,
    folded_sessions.folded_into
from folded_sessions
anti join sessions on folded_sessions.folded_into = sessions.session_id
