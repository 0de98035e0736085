-- One row per pair of judges (from: the one that was used first) × method × dimension (and 'overall') × probe: the sums
-- of both judges' scores over the answers that both have scored.
--
-- Of current methods only: those that the newest run of the study asks for.
create view agg_bridge_probes as
with two_judges as (
    select
        earlier.judge_id as judge_id_from,
        later.judge_id as judge_id_to
    from judges as earlier
    inner join judges as later
        on
            earlier.created_at < later.created_at
            or (earlier.created_at = later.created_at and earlier.judge_id < later.judge_id)
),

answer_scores as materialized (
    select
        judge_id,
        answer_id,
        dimension,
        method_id,
        session_id,
        probe_id,
        score
    from int_answer_scores
    where
        (select count(*) from judges) > 1
        and method_id in (select methods.method_id from methods where methods.is_current)
)

select
    two_judges.judge_id_from,
    two_judges.judge_id_to,
    scores_from.method_id,
    (select m.method from stg_methods as m where m.method_id = scores_from.method_id) as method,
    scores_from.dimension,
    scores_from.session_id,
    scores_from.probe_id,
    count(*) as n_answers,  -- Answers of the question that both have scored
    sum(scores_from.score) as sum_from,  -- Sum of the first judge's scores of them
    sum(scores_to.score) as sum_to  -- Sum of the second judge's scores of them
from answer_scores as scores_from
inner join two_judges on scores_from.judge_id = two_judges.judge_id_from
inner join answer_scores as scores_to
    on
        two_judges.judge_id_to = scores_to.judge_id
        and scores_from.answer_id = scores_to.answer_id
        and scores_from.dimension = scores_to.dimension
group by
    two_judges.judge_id_from, two_judges.judge_id_to, scores_from.method_id, scores_from.dimension,
    scores_from.session_id, scores_from.probe_id;
