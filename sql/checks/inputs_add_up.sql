-- The sessions of an input are those that are stored and those that are copies of others.
with stored as (
    select
        input_path,
        count(*) as n_sessions
    from sessions
    group by input_path
),

folded as (
    select
        input_path,
        count(*) as n_sessions
    from folded_sessions
    group by input_path
)

select
    inputs.input_path,
    inputs.n_sessions,
    coalesce(stored.n_sessions, 0) as n_stored,
    coalesce(folded.n_sessions, 0) as n_folded
from inputs
left join stored on inputs.input_path = stored.input_path
left join folded on inputs.input_path = folded.input_path
where
    inputs.n_sessions <> coalesce(stored.n_sessions, 0) + coalesce(folded.n_sessions, 0)
    or inputs.n_folded <> coalesce(folded.n_sessions, 0)
