-- One row per judge × method: its overall on the probes for which every method of that judge has a score.
create view agg_shared_probes as
with probe_means as (
    select
        judge_id,
        method_id,
        probe_id,
        avg(score) as overall
    from int_answer_scores
    where dimension = 'overall'
    group by judge_id, method_id, probe_id
),

counted as (
    select
        judge_id,
        method_id,
        overall,
        count(*) over (partition by judge_id, probe_id) as n_methods_of_probe
    from probe_means
),

judge_methods as (
    select
        judge_id,
        count(distinct method_id) as n_methods
    from probe_means
    group by judge_id
)

select
    counted.judge_id,
    counted.method_id,
    avg(counted.overall) as overall_on_shared_probes,
    count(*) as n_shared_probes
from counted
inner join judge_methods on counted.judge_id = judge_methods.judge_id
where counted.n_methods_of_probe = judge_methods.n_methods
group by counted.judge_id, counted.method_id;
