-- One row per judge × method × probe with a done answer that the judge was given: the dimensions of these answers, side
-- by side.
--
-- A dimension (and overall) is the sum over the answers that have a score (replicates of the compaction and of the
-- answer), NULL where none has, and n_ is their number. The scores of answers are those of `int_answer_scores`, taken
-- in a single pass: what is computed over all answers of a large store stands on this. Dimensions that are not among
-- the study's six count in overall only; `int_answer_scores` has them.
--
-- The numbers are row numbers (`rowid`) of the tables methods, sessions and probes: as keys of a group or a join they
-- are many times faster than ids. They hold within one query only.
create view int_probe_dimensions as
with weighed as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        dimension,
        score,
        score * weight as weighted_score,
        case when score is not null then weight end as weight
    from stg_scores
),

per_replicate as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        sum(weighted_score) filter (where dimension = 'accuracy')
        / sum(weight) filter (where dimension = 'accuracy') as accuracy,
        sum(weighted_score) filter (where dimension = 'context_awareness')
        / sum(weight) filter (where dimension = 'context_awareness') as context_awareness,
        sum(weighted_score) filter (where dimension = 'artifact_trail')
        / sum(weight) filter (where dimension = 'artifact_trail') as artifact_trail,
        sum(weighted_score) filter (where dimension = 'completeness')
        / sum(weight) filter (where dimension = 'completeness') as completeness,
        sum(weighted_score) filter (where dimension = 'continuity')
        / sum(weight) filter (where dimension = 'continuity') as continuity,
        sum(weighted_score) filter (where dimension = 'instruction_following')
        / sum(weight) filter (where dimension = 'instruction_following') as instruction_following,
        count(*) - count(score) as n_unscored_criteria
    from weighed
    group by judge_id, answer_id, judge_replicate
),

other_dimensions as (
    select
        judge_id,
        answer_id,
        dimension,
        avg(score) as score
    from stg_dimension_scores
    where
        dimension not in (
            'accuracy', 'context_awareness', 'artifact_trail', 'completeness', 'continuity', 'instruction_following'
        )
    group by judge_id, answer_id, dimension
),

others as (
    select
        other_dimensions.judge_id,
        answers.rowid as answer_number,
        list(other_dimensions.score) as scores
    from other_dimensions
    inner join answers on other_dimensions.answer_id = answers.answer_id
    group by other_dimensions.judge_id, answers.rowid
),

compacted as (
    select
        compactions.compaction_id,
        methods.rowid as method_number,
        sessions.rowid as session_number
    from compactions
    inner join methods on compactions.method_id = methods.method_id
    inner join points on compactions.point_id = points.point_id
    inner join sessions on points.session_id = sessions.session_id
),

located as (
    select
        answers.answer_id,
        answers.rowid as answer_number,
        compacted.method_number,
        compacted.session_number,
        probes.rowid as probe_number
    from answers
    inner join compacted on answers.compaction_id = compacted.compaction_id
    inner join probes on answers.probe_id = probes.probe_id
    where answers.status = 'done'
),

per_answer as (
    select
        per_replicate.judge_id,
        located.answer_number,
        located.method_number,
        located.session_number,
        located.probe_number,
        avg(per_replicate.accuracy) as accuracy,
        avg(per_replicate.context_awareness) as context_awareness,
        avg(per_replicate.artifact_trail) as artifact_trail,
        avg(per_replicate.completeness) as completeness,
        avg(per_replicate.continuity) as continuity,
        avg(per_replicate.instruction_following) as instruction_following,
        cast(sum(per_replicate.n_unscored_criteria) as bigint) as n_unscored_criteria
    from per_replicate
    inner join located on per_replicate.answer_id = located.answer_id
    group by
        per_replicate.judge_id, located.answer_number, located.method_number, located.session_number,
        located.probe_number
),

scored as (
    select
        per_answer.judge_id,
        per_answer.accuracy,
        per_answer.context_awareness,
        per_answer.artifact_trail,
        per_answer.completeness,
        per_answer.continuity,
        per_answer.instruction_following,
        list_avg(
            list_concat(
                [
                    per_answer.accuracy,
                    per_answer.context_awareness,
                    per_answer.artifact_trail,
                    per_answer.completeness,
                    per_answer.continuity,
                    per_answer.instruction_following
                ],
                others.scores
            )
        ) as overall,
        per_answer.n_unscored_criteria,
        per_answer.method_number,
        per_answer.session_number,
        per_answer.probe_number
    from per_answer
    left join others on per_answer.judge_id = others.judge_id and per_answer.answer_number = others.answer_number
)

select
    judge_id,
    method_number,
    session_number,
    probe_number,
    sum(overall) as overall,
    sum(accuracy) as accuracy,
    sum(context_awareness) as context_awareness,
    sum(artifact_trail) as artifact_trail,
    sum(completeness) as completeness,
    sum(continuity) as continuity,
    sum(instruction_following) as instruction_following,
    count(overall) as n_overall,
    count(accuracy) as n_accuracy,
    count(context_awareness) as n_context_awareness,
    count(artifact_trail) as n_artifact_trail,
    count(completeness) as n_completeness,
    count(continuity) as n_continuity,
    count(instruction_following) as n_instruction_following,
    count(*) - count(overall) as n_unscored,
    cast(sum(n_unscored_criteria) as bigint) as n_unscored_criteria
from scored
group by judge_id, method_number, session_number, probe_number;

comment on column int_probe_dimensions.judge_id is 'Judge version';
comment on column int_probe_dimensions.method_number is 'Row number of the method in methods; holds within a query';
comment on column int_probe_dimensions.session_number is 'Row number of the session in sessions';
comment on column int_probe_dimensions.probe_number is 'Row number of the question in probes';
comment on column int_probe_dimensions.overall is 'Sum of the answers'' overalls; NULL where none has one';
comment on column int_probe_dimensions.accuracy is 'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.context_awareness is
'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.artifact_trail is 'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.completeness is 'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.continuity is 'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.instruction_following is
'Sum of the answers'' scores in it; NULL where none has one';
comment on column int_probe_dimensions.n_overall is 'Answers with an overall';
comment on column int_probe_dimensions.n_accuracy is 'Answers with a score in accuracy';
comment on column int_probe_dimensions.n_context_awareness is 'Answers with a score in context_awareness';
comment on column int_probe_dimensions.n_artifact_trail is 'Answers with a score in artifact_trail';
comment on column int_probe_dimensions.n_completeness is 'Answers with a score in completeness';
comment on column int_probe_dimensions.n_continuity is 'Answers with a score in continuity';
comment on column int_probe_dimensions.n_instruction_following is 'Answers with a score in instruction_following';
comment on column int_probe_dimensions.n_unscored is 'Answers that the judge was given and has no score for';
comment on column int_probe_dimensions.n_unscored_criteria is 'Criteria without a score, over answers and replicates';
