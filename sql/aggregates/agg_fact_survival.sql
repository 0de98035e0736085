-- One row per method × session × age × kind of statement, and one more of each with the kind 'any': all but
-- constraints, which are looked at by themselves.
create view agg_fact_survival as
select
    method_id,
    (select m.method from stg_methods as m where m.method_id = int_statement_states.method_id) as method,
    session_id,
    age,  -- Cycles since the point that stated it first
    coalesce(kind, 'any') as kind,  -- Kind of statement
    if(grouping(kind) = 0, count(*), count(*) filter (where kind <> 'constraint')) as n_facts,  -- Statements that were
    -- looked for
    if(
        grouping(kind) = 0,
        count(*) filter (where state = 'readable'),
        count(*) filter (where state = 'readable' and kind <> 'constraint')
    ) as n_stated  -- Of these, those that can be read in the contexts
from int_statement_states
where kind is not null and state <> 'unknown'
group by grouping sets ((method_id, session_id, age, kind), (method_id, session_id, age))
having n_facts > 0;
