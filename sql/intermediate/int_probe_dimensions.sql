-- One row per judge × method × probe with a score: the dimensions of the method's answers, side by side.
--
-- A dimension (and overall) is the sum over the answers that have a score (replicates of the compaction and of the
-- answer), NULL where none has, and n_ is their number. Dimensions that are not among the study's six count in overall
-- only; `int_answer_scores` has them.
--
-- The numbers are row numbers (`rowid`) of the tables methods, sessions and probes: as keys of a group or a join they
-- are many times faster than ids. They hold within one query only.
create view int_probe_dimensions as
select
    scored.judge_id,
    methods.rowid as method_number,
    sessions.rowid as session_number,
    probes.rowid as probe_number,
    sum(scored.score) filter (where scored.dimension = 'overall') as overall,
    sum(scored.score) filter (where scored.dimension = 'accuracy') as accuracy,
    sum(scored.score) filter (where scored.dimension = 'context_awareness') as context_awareness,
    sum(scored.score) filter (where scored.dimension = 'artifact_trail') as artifact_trail,
    sum(scored.score) filter (where scored.dimension = 'completeness') as completeness,
    sum(scored.score) filter (where scored.dimension = 'continuity') as continuity,
    sum(scored.score) filter (where scored.dimension = 'instruction_following') as instruction_following,
    count(*) filter (where scored.dimension = 'overall') as n_overall,
    count(*) filter (where scored.dimension = 'accuracy') as n_accuracy,
    count(*) filter (where scored.dimension = 'context_awareness') as n_context_awareness,
    count(*) filter (where scored.dimension = 'artifact_trail') as n_artifact_trail,
    count(*) filter (where scored.dimension = 'completeness') as n_completeness,
    count(*) filter (where scored.dimension = 'continuity') as n_continuity,
    count(*) filter (where scored.dimension = 'instruction_following') as n_instruction_following
from int_answer_scores as scored
inner join methods on scored.method_id = methods.method_id
inner join sessions on scored.session_id = sessions.session_id
inner join probes on scored.probe_id = probes.probe_id
group by scored.judge_id, methods.rowid, sessions.rowid, probes.rowid;

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
