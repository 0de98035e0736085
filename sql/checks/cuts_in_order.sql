-- The cuts of a session lie within it, and each cycle cuts later than the one before.
select
    points.point_id,
    points.cycle,
    points.cut_seq,
    sessions.n_messages
from points
inner join sessions on points.session_id = sessions.session_id
qualify
    points.cut_seq >= sessions.n_messages
    or points.cut_seq <= lag(points.cut_seq) over (
        partition by points.session_id, points.points_spec order by points.cycle, points.point_id
    )
