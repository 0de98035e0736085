-- One row per method × session: sums over its points at which the next action was asked for.
--
-- A context's action is compared with both answers from the whole history, and counts as changed by half for each that
-- it differs from; the noise is how often these two differ from each other at the same points.
create view agg_next_actions as
with noise as (
    select
        again.point_id,
        cast(again.with_full = 'different' as integer) as differs,
        case
            when first.with_session is not null
                then (
                    cast(first.with_session <> 'different' as integer)
                    + cast(again.with_session <> 'different' as integer)
                ) / 2
        end as as_session
    from next_actions as first
    inner join next_actions as again on first.point_id = again.point_id
    where
        first.compaction_id is null
        and again.compaction_id is null
        and first.repetition = 1
        and again.repetition = 2
        and first.status = 'done'
        and again.status = 'done'
)

select
    asked.method_id,
    (select m.method from stg_methods as m where m.method_id = asked.method_id) as method,
    asked.session_id,
    count(*) as n_points,  -- Points
    sum(cast(asked.with_full = 'same' as integer) + cast(asked.with_full_again = 'same' as integer)) / 2
        as n_same,  -- Of these, with the same action as the whole history (halves: it was asked twice)
    sum(cast(asked.with_full = 'different' as integer) + cast(asked.with_full_again = 'different' as integer)) / 2
        as n_changed,  -- Of these, with a different one (halves)
    sum(noise.differs) as n_noise,  -- Of these, where the whole history's two actions differ
    count(noise.as_session) as n_known,  -- Points whose next step in the session is known
    sum(cast(asked.with_session <> 'different' as integer)) filter (where noise.as_session is not null)
        as n_as_session,  -- Of these, with the session's own action or an equivalent one
    sum(noise.as_session) as n_full_as_session  -- The same of the whole history's actions (halves)
from next_actions as asked
inner join noise on asked.point_id = noise.point_id
where asked.compaction_id is not null and asked.status = 'done'
group by asked.method_id, asked.session_id;
