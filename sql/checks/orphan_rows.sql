-- Every row's references lead to a row of the table that they name.
select
    'points' as table_name,
    points.point_id as id,
    'sessions.session_id' as missing_from,
    points.session_id as missing
from points
anti join sessions on points.session_id = sessions.session_id
union all
select
    'compactions' as table_name,
    compactions.compaction_id as id,
    'points.point_id' as missing_from,
    compactions.point_id as missing
from compactions
anti join points on compactions.point_id = points.point_id
union all
select
    'compactions' as table_name,
    compactions.compaction_id as id,
    'methods.method_id' as missing_from,
    compactions.method_id as missing
from compactions
anti join methods on compactions.method_id = methods.method_id
union all
select
    'probes' as table_name,
    probes.probe_id as id,
    'points.point_id' as missing_from,
    probes.point_id as missing
from probes
anti join points on probes.point_id = points.point_id
union all
select
    'probes_not_asked' as table_name,
    probes_not_asked.point_id as id,
    'points.point_id' as missing_from,
    probes_not_asked.point_id as missing
from probes_not_asked
anti join points on probes_not_asked.point_id = points.point_id
union all
select
    'answers' as table_name,
    answers.answer_id as id,
    'compactions.compaction_id' as missing_from,
    answers.compaction_id as missing
from answers
anti join compactions on answers.compaction_id = compactions.compaction_id
union all
select
    'answers' as table_name,
    answers.answer_id as id,
    'probes.probe_id' as missing_from,
    answers.probe_id as missing
from answers
anti join probes on answers.probe_id = probes.probe_id
union all
select
    'scores' as table_name,
    scores.answer_id as id,
    'answers.answer_id' as missing_from,
    scores.answer_id as missing
from scores
anti join answers on scores.answer_id = answers.answer_id
union all
select
    'scores' as table_name,
    scores.answer_id as id,
    'judges.judge_id' as missing_from,
    scores.judge_id as missing
from scores
anti join judges on scores.judge_id = judges.judge_id
union all
select
    'human_scores' as table_name,
    human_scores.answer_id as id,
    'answers.answer_id' as missing_from,
    human_scores.answer_id as missing
from human_scores
anti join answers on human_scores.answer_id = answers.answer_id
union all
select
    'needs' as table_name,
    needs.point_id as id,
    'points.point_id' as missing_from,
    needs.point_id as missing
from needs
anti join points on needs.point_id = points.point_id
union all
select
    'measures' as table_name,
    measures.compaction_id as id,
    'compactions.compaction_id' as missing_from,
    measures.compaction_id as missing
from measures
anti join compactions on measures.compaction_id = compactions.compaction_id
union all
select
    'statement_states' as table_name,
    statement_states.compaction_id as id,
    'compactions.compaction_id' as missing_from,
    statement_states.compaction_id as missing
from statement_states
anti join compactions on statement_states.compaction_id = compactions.compaction_id
union all
select
    'statement_states' as table_name,
    statement_states.compaction_id as id,
    'probes.probe_id' as missing_from,
    statement_states.probe_id as missing
from statement_states
anti join probes on statement_states.probe_id = probes.probe_id
union all
select
    'label_samples' as table_name,
    label_samples.answer_id as id,
    'answers.answer_id' as missing_from,
    label_samples.answer_id as missing
from label_samples
anti join answers on label_samples.answer_id = answers.answer_id
union all
select
    'anchor_scores' as table_name,
    anchor_scores.answer_id as id,
    'answers.answer_id' as missing_from,
    anchor_scores.answer_id as missing
from anchor_scores
anti join answers on anchor_scores.answer_id = answers.answer_id
union all
select
    'anchor_scores' as table_name,
    anchor_scores.answer_id as id,
    'judges.judge_id' as missing_from,
    anchor_scores.judge_id as missing
from anchor_scores
anti join judges on anchor_scores.judge_id = judges.judge_id
