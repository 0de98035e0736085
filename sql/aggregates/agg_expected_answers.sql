-- One row per method with a compaction: the answers that its done compactions call for, and what there is of them.
--
-- Expected are all probes of the compaction's point, as often as the method was answered at all: once for every
-- responder and replicate that the store holds of it.
--
-- Of current methods only: those that the newest run of the study asks for.
create view agg_expected_answers as
with probes_of_point as (
    select
        point_id,
        count(*) as n_probes
    from probes
    group by point_id
),

questions as (
    select
        compactions.method_id,
        sum(probes_of_point.n_probes) filter (where compactions.status = 'done') as n_questions
    from compactions
    left join probes_of_point on compactions.point_id = probes_of_point.point_id
    group by compactions.method_id
),

given as (
    select
        method_id,
        count(distinct struct_pack(r := responder, n := answer_replicate)) as n_times,
        count(*) filter (where status = 'done') as n_done,
        count(*) filter (where status = 'failed') as n_failed
    from stg_answers
    group by method_id
)

select
    questions.method_id,
    (select m.method from stg_methods as m where m.method_id = questions.method_id) as method,
    cast(coalesce(questions.n_questions, 0) * coalesce(given.n_times, 1) as bigint) as n_expected,  -- Answers that its
    -- done compactions call for
    coalesce(given.n_done, 0) as n_done,  -- Answers that are done
    coalesce(given.n_failed, 0) as n_failed  -- Answers that failed
from questions
inner join methods on questions.method_id = methods.method_id
left join given on questions.method_id = given.method_id
where methods.is_current;
