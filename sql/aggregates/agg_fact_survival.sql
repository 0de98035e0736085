-- One row per method × session × age × kind of fact, and one more of each with the kind 'any'.
create view agg_fact_survival as
select
    method_id,
    session_id,
    age,
    coalesce(kind, 'any') as kind,
    count(*) as n_facts,
    count(*) filter (where is_stated) as n_stated
from int_fact_checks
where kind is not null
group by grouping sets ((method_id, session_id, age, kind), (method_id, session_id, age));

comment on column agg_fact_survival.method_id is 'Identity of the method';
comment on column agg_fact_survival.session_id is 'Session';
comment on column agg_fact_survival.age is 'Cycles since the point that stated the fact first';
comment on column agg_fact_survival.kind is 'Kind of fact';
comment on column agg_fact_survival.n_facts is 'Facts that were looked for';
comment on column agg_fact_survival.n_stated is 'Of these, those that the contexts state';
