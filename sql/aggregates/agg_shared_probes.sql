-- One row per judge × current method with a score for the probes that every current method of the judge has one for:
-- its mean on these.
create view agg_shared_probes as
with probe_means as (
    select
        scored.judge_id,
        scored.method_id,
        scored.probe_id,
        avg(scored.score) as overall
    from int_answer_scores as scored
    inner join methods on scored.method_id = methods.method_id
    where scored.dimension = 'overall' and methods.is_current
    group by scored.judge_id, scored.method_id, scored.probe_id
),

n_methods as (
    select
        judge_id,
        count(distinct method_id) as n
    from probe_means
    group by judge_id
),

shared_probes as (
    select
        probe_means.judge_id,
        probe_means.probe_id
    from probe_means
    inner join n_methods on probe_means.judge_id = n_methods.judge_id
    group by probe_means.judge_id, probe_means.probe_id
    having count(*) = any_value(n_methods.n)
)

select
    probe_means.judge_id,
    probe_means.method_id,
    (select m.method from stg_methods as m where m.method_id = probe_means.method_id) as method,
    avg(probe_means.overall) as overall_on_shared_probes,
    count(*) as n_shared_probes
from probe_means
inner join shared_probes using (judge_id, probe_id)
group by probe_means.judge_id, probe_means.method_id;
