-- session_id identifies a row of sessions.
select
    session_id,
    count(*) as n_rows
from sessions
group by session_id
having count(*) > 1
