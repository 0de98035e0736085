-- One row per session that has others of its family in the store: sub-agents, forks, copies; in the order of the tree.
--
-- A session hangs below the one that started it or that it was forked from, else below the one that has its first
-- messages too. A copy hangs below the session that is stored in its place. Where the log names a session that is not
-- in the store, that one stands at the top, without figures.
create view families as
with recursive
folds as (
    select
        recorded_id,
        min(folded_into) as folded_into
    from folded_sessions
    where recorded_id not in (select sessions.session_id from sessions)
    group by recorded_id
),

stored as (
    select
        sessions.session_id,
        nullif(
            coalesce(folds.folded_into, sessions.parent_session_id, sessions.given_by), sessions.session_id
        ) as parent,
        case
            when sessions.forked_at is not null then 'fork'
            when sessions.parent_session_id is not null then 'sub-agent'
            when sessions.given_by is not null then 'same beginning'
            else 'session'
        end as kind,
        sessions.started_at,
        sessions.n_messages - sessions.n_given as n_own,
        sessions.n_inherited + sessions.n_given as n_inherited
    from sessions
    left join folds on sessions.parent_session_id = folds.recorded_id
),

members as (
    select
        *,
        true as is_stored
    from stored
    union all by name
    select distinct
        parent as session_id,
        'not in the store' as kind,
        true as is_stored
    from stored
    where parent not in (select sessions.session_id from sessions)
    union all by name
    select
        recorded_id as session_id,
        folded_into as parent,
        'copy' as kind,
        0 as n_own,
        n_messages as n_inherited,
        false as is_stored
    from folded_sessions
),

named as (
    select
        *,
        concat_ws(' ', strftime(started_at, '%Y-%m-%dT%H:%M:%S.%f'), session_id) as place
    from members
),

tree as (
    select
        *,
        session_id as family_id,
        0 as depth,
        [place] as places
    from named
    where parent is null
    union all
    select
        named.*,
        tree.family_id,
        tree.depth + 1 as depth,
        list_append(tree.places, named.place) as places
    from named
    inner join tree on named.parent = tree.session_id and tree.is_stored
)

select
    family_id,  -- Session at the top of the tree
    session_id,  -- Session; of a copy the id that its log gives it
    parent as parent_session_id,  -- Session that it hangs below; NULL at the top
    kind,  -- session, sub-agent, fork, same beginning (as another session's, and no log says why), copy (resumed, grown
    -- or exported: not stored), or not in the store
    depth,  -- Steps from the top, from 0
    n_own,  -- Messages that are stored as its own and counted here only; 0 for a copy
    n_inherited  -- Messages that stand with another session of the family, too
from tree
qualify count(*) over (partition by family_id) > 1
order by places asc, is_stored desc;
