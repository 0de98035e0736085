-- Every session that was folded into another one was folded into one that is stored.
select
    folded_sessions.recorded_id,
    folded_sessions.folded_into
from folded_sessions
anti join sessions on folded_sessions.folded_into = sessions.session_id
