-- The needs of a measurement are those of its point, kind by kind, and what is lost and fetched is listed.
with listed as (
    select
        point_id,
        count(*) as n_needs,
        count(*) filter (where kind = 'path') as n_paths,
        count(*) filter (where kind = 'identifier') as n_identifiers,
        count(*) filter (where kind = 'quote') as n_quotes
    from needs
    group by point_id
)

select
    measures.compaction_id,
    measures.n_needs,
    listed.n_needs as n_listed
from measures
inner join compactions on measures.compaction_id = compactions.compaction_id
left join listed on compactions.point_id = listed.point_id
where
    measures.status = 'done'
    and (
        measures.n_needs <> coalesce(listed.n_needs, 0)
        or measures.n_paths <> coalesce(listed.n_paths, 0)
        or measures.n_identifiers <> coalesce(listed.n_identifiers, 0)
        or measures.n_quotes <> coalesce(listed.n_quotes, 0)
        or measures.n_lost <> measures.n_paths_lost + measures.n_identifiers_lost + measures.n_quotes_lost
        or measures.n_lost <> len(measures.lost)
        or measures.n_fetches <> len(measures.fetched)
    )
