-- One row per answer to a question of the wanted points, each method's first repetition, with its overall; of a
-- constraint, which has none, with the score of constraints.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
--   points     points, as a list of their ids
with wanted as (
    select
        point_id,
        session_id
    from points
    where point_id in (select unnest(getvariable('points')))
),

compacted as (
    select
        compaction_id,
        point_id,
        method_id,
        replicate
    from compactions
    where point_id in (select wanted.point_id from wanted)
),

answered as (
    select
        compacted.point_id,
        compacted.compaction_id,
        compacted.method_id,
        compacted.replicate as compaction_replicate,
        answers.answer_id,
        answers.probe_id,
        answers.replicate as answer_replicate,
        answers.status,
        answers.text,
        answers.error,
        answers.fetched_tokens
    from answers
    inner join compacted on answers.compaction_id = compacted.compaction_id
    where answers.session_id in (select wanted.session_id from wanted)
),

given as (
    select
        answer_id,
        score
    from int_answer_scores
    where
        session_id in (select wanted.session_id from wanted)
        and point_id in (select wanted.point_id from wanted)
        and judge_id = getvariable('judge_id')
        and dimension in ('overall', 'constraints')
)

select
    answered.point_id,
    points.session_id,
    points.cycle,
    answered.probe_id,
    probes.probe_type,
    probes.question,
    probes.ground_truth,
    probes.evidence,
    answered.compaction_id,
    stg_methods.method,
    answered.answer_id,
    answered.status,
    answered.text,
    answered.error,
    answered.fetched_tokens,
    given.score
from answered
inner join stg_methods on answered.method_id = stg_methods.method_id
inner join points on answered.point_id = points.point_id
inner join probes on answered.probe_id = probes.probe_id
left join given on answered.answer_id = given.answer_id
where stg_methods.is_current
qualify
    row_number() over (
        partition by answered.probe_id, answered.method_id
        order by answered.compaction_replicate, answered.answer_replicate
    ) = 1
order by
    answered.point_id,
    list_position(['recall', 'artifact', 'continuation', 'decision', 'constraint'], probes.probe_type),
    answered.probe_id,
    stg_methods.method
