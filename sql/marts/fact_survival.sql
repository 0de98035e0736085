-- One row per method × age × kind of statement, and one more of each with the kind 'any' (all but
-- constraints).
--
-- Age 0 is the point whose probe stated it first, age 1 the session's next point … What a figure means depends on
-- the method's history: with prefix every context is made from the whole session, so a share that falls with age says
-- that old things are left out; with chain the context is made from what was left last time, so it says how fast things
-- die in repeated compaction.
create view fact_survival as
with figures as (
    select
        method_id,
        age,
        kind,
        cluster_figures(list(n_stated), list(n_facts)) as f
    from agg_fact_survival
    group by method_id, age, kind
)

select
    stg_methods.method,
    figures.method_id,
    figures.age,
    figures.kind,
    figures.f.mean as share,
    figures.f.std_error,
    figures.f.mean - t_quantile(0.975, figures.f.df) * figures.f.std_error as ci_low,
    figures.f.mean + t_quantile(0.975, figures.f.df) * figures.f.std_error as ci_high,
    figures.f.n as n_facts,
    figures.f.n_clusters as n_sessions,
    stg_methods.history,
    stg_methods.is_current
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id;

comment on column fact_survival.method is 'Name of the method, unique';
comment on column fact_survival.method_id is 'Method';
comment on column fact_survival.age is
'Cycles from the first point that stated it to the point of the context: 0 for the same point';
comment on column fact_survival.kind is 'Kind of statement (error, command, file_modified …); any: all of them';
comment on column fact_survival.share is 'Share 0–1 of the statements that can still be read in the contexts';
comment on column fact_survival.std_error is 'Its standard error, clustered by session; NULL with a single session';
comment on column fact_survival.ci_low is 'Lower end of the 95 % interval; NULL with a single session';
comment on column fact_survival.ci_high is 'Upper end of the 95 % interval; NULL with a single session';
comment on column fact_survival.n_facts is 'Statements that were looked for, once for each context';
comment on column fact_survival.n_sessions is 'Sessions that they come from';
comment on column fact_survival.history is
'prefix: each context is made from the whole session; chain: from what the method left at the point before';
comment on column fact_survival.is_current is 'Whether the newest run of the study asks for the method';
