-- One row per point of a session, in the order of the session.
--
-- Parameters (variables):
--   session_id   the session
select
    point_id,
    cycle,
    cut_seq
from points
where session_id = getvariable('session_id')
order by cycle, point_id
