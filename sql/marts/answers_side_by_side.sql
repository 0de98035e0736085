-- One row per judge × question × method: its answer and score, with those of a baseline beside them.
--
-- `WHERE method = 'head_tail' ORDER BY difference` shows where a method loses most. The baseline is the one of
-- `agg_default_baselines`; `SET VARIABLE baseline = 'codex_local'` names another. Of a method that was repeated it is
-- the first repetition's answer.
create view answers_side_by_side as
with given as (
    select
        stg_answers.*,
        stg_methods.method,
        stg_methods.is_current
    from stg_answers
    inner join stg_methods on stg_answers.method_id = stg_methods.method_id
    qualify
        row_number() over (
            partition by stg_answers.point_id, stg_answers.probe_id, stg_answers.method_id
            order by stg_answers.compaction_replicate, stg_answers.answer_replicate, stg_answers.responder
        ) = 1
),

judged as (
    select
        judges.judge_id,
        judges.judge,
        given.*,
        scored.score
    from judges
    cross join given
    left join int_answer_scores as scored
        on
            judges.judge_id = scored.judge_id
            and given.answer_id = scored.answer_id
            and scored.dimension = if(given.probe_type = 'constraint', 'constraints', 'overall')
)

select
    judged.judge_id,
    judged.judge,
    judged.session_id,
    judged.cycle,  -- Number of the point in its session, from 1
    judged.probe_type,
    probes.question,  -- What was asked
    probes.ground_truth,  -- What would have been right
    judged.method,
    answers.text as answer,  -- What it answered; NULL where the answer failed
    judged.score,  -- Overall of the answer, 0 to 5; of a constraint's question, which has none, its score of
    -- constraints; NULL where there is none
    other.method as baseline,  -- Method that it is held against; NULL where it gave no answer
    base_answers.text as baseline_answer,  -- What the baseline answered
    other.score as baseline_score,  -- The baseline's score
    judged.score - other.score as difference,  -- score - baseline_score: below 0, the baseline is better
    judged.status,  -- done, or failed: there is no answer
    judged.probe_id,
    judged.point_id,  -- Compaction point
    judged.answer_id,  -- The answer
    other.answer_id as baseline_answer_id,  -- The baseline's answer
    judged.method_id,
    judged.is_current
from judged
inner join probes on judged.probe_id = probes.probe_id
inner join answers on judged.answer_id = answers.answer_id
left join agg_default_baselines as defaults on judged.judge_id = defaults.judge_id
left join judged as other
    on
        judged.judge_id = other.judge_id
        and judged.probe_id = other.probe_id
        and other.is_current
        and coalesce(getvariable('baseline'), defaults.method) = other.method
left join answers as base_answers on other.answer_id = base_answers.answer_id
order by judged.judge, judged.judge_id, judged.session_id, judged.cycle, judged.probe_id, judged.method;
