-- One row per session: the cluster that it counts in, which is its project where there are ten, else the session.
--
-- Sessions of one project depend on each other: they share code, conventions and a person. Fewer than ten projects say
-- too little of how projects differ. They are counted among the sessions with points. A session of which no project is
-- known is a cluster by itself.
create view stg_clusters as
with projects as (
    select count(distinct sessions.project) >= 10 as are_enough
    from sessions
    where sessions.session_id in (select points.session_id from points)
)

select
    sessions.session_id,
    case when projects.are_enough then coalesce(sessions.project, sessions.session_id) else sessions.session_id end
        as cluster,  -- Project or session
    case when projects.are_enough then 'project' else 'session' end as cluster_unit  -- project or session, the same in
    -- every row
from sessions
cross join projects;
