-- One row per answer to a question of the wanted points, each method's first repetition, with its overall; of a
-- constraint, which has none, with the score of constraints.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
--   points     points, as a list of their ids
select
    stg_answers.point_id,
    stg_answers.session_id,
    stg_answers.cycle,
    stg_answers.probe_id,
    stg_answers.probe_type,
    probes.question,
    probes.ground_truth,
    probes.evidence,
    json_extract_string(probes.statements, '$[*].text') as statements,
    stg_answers.compaction_id,
    stg_methods.method,
    stg_answers.answer_id,
    stg_answers.status,
    answers.text,
    answers.error,
    answers.fetched_tokens,
    given.score
from stg_answers
inner join stg_methods on stg_answers.method_id = stg_methods.method_id
inner join answers on stg_answers.answer_id = answers.answer_id
inner join probes on stg_answers.probe_id = probes.probe_id
left join int_answer_scores as given
    on
        stg_answers.answer_id = given.answer_id
        and given.judge_id = getvariable('judge_id')
        and given.dimension in ('overall', 'constraints')
where stg_methods.is_current and list_contains(getvariable('points'), stg_answers.point_id)
qualify
    row_number() over (
        partition by stg_answers.probe_id, stg_answers.method_id
        order by stg_answers.compaction_replicate, stg_answers.answer_replicate
    ) = 1
order by
    stg_answers.point_id,
    list_position(['recall', 'artifact', 'continuation', 'decision', 'constraint'], stg_answers.probe_type),
    stg_answers.probe_id,
    stg_methods.method
