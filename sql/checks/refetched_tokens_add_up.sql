-- What is fetched again are observations of the point's needs, and their tokens add up.
with fetched as (
    select
        compaction_id,
        unnest(fetched) as observation_seq
    from measures
),

observations as (
    select distinct
        point_id,
        observation_seq,
        observation_tokens
    from needs
),

sums as (
    select
        fetched.compaction_id,
        count(*) as n_fetches,
        sum(observations.observation_tokens) as refetch_tokens
    from fetched
    inner join compactions on fetched.compaction_id = compactions.compaction_id
    inner join observations
        on
            compactions.point_id = observations.point_id
            and fetched.observation_seq = observations.observation_seq
    group by fetched.compaction_id
)

select
    measures.compaction_id,
    measures.n_fetches,
    measures.refetch_tokens
from measures
left join sums on measures.compaction_id = sums.compaction_id
where
    measures.status = 'done'
    and (
        measures.n_fetches <> coalesce(sums.n_fetches, 0)
        or measures.refetch_tokens <> coalesce(sums.refetch_tokens, 0)
    )
