-- One row per method × session × age × kind of statement, and one more of each with the kind 'any': all but
-- constraints, which are looked at by themselves.
create view agg_fact_survival as
select
    method_id,
    session_id,
    age,
    coalesce(kind, 'any') as kind,
    if(grouping(kind) = 0, count(*), count(*) filter (where kind <> 'constraint')) as n_facts,
    if(
        grouping(kind) = 0,
        count(*) filter (where state = 'readable'),
        count(*) filter (where state = 'readable' and kind <> 'constraint')
    ) as n_stated
from int_statement_states
where kind is not null and state <> 'unknown'
group by grouping sets ((method_id, session_id, age, kind), (method_id, session_id, age))
having n_facts > 0;

comment on column agg_fact_survival.method_id is 'Identity of the method';
comment on column agg_fact_survival.session_id is 'Session';
comment on column agg_fact_survival.age is 'Cycles since the point that stated it first';
comment on column agg_fact_survival.kind is 'Kind of statement';
comment on column agg_fact_survival.n_facts is 'Statements that were looked for';
comment on column agg_fact_survival.n_stated is 'Of these, those that can be read in the contexts';
