-- One row per compaction that is done: which files its context still tells, against what the tool calls did.
--
-- Precision is right / told and recall right / true. The context as it was has 1 and 1, the empty one recall 0 and no
-- precision. No judge: docs/tokens-per-task.md says what counts as told.
create view artifact_exact as
select
    stg_measures.compaction_id,
    stg_measures.point_id,
    stg_methods.method,
    stg_measures.method_id,
    stg_measures.n_created_right / nullif(stg_measures.n_created_told, 0) as created_precision,
    stg_measures.n_created_right / nullif(stg_measures.n_created_true, 0) as created_recall,
    stg_measures.n_modified_right / nullif(stg_measures.n_modified_told, 0) as modified_precision,
    stg_measures.n_modified_right / nullif(stg_measures.n_modified_true, 0) as modified_recall,
    stg_measures.n_read_right / nullif(stg_measures.n_read_told, 0) as read_precision,
    stg_measures.n_read_right / nullif(stg_measures.n_read_true, 0) as read_recall,
    stg_measures.n_any_right / nullif(stg_measures.n_any_told, 0) as any_precision,
    stg_measures.n_any_right / nullif(stg_measures.n_any_true, 0) as any_recall,
    stg_measures.n_created_true,
    stg_measures.n_created_told,
    stg_measures.n_created_right,
    stg_measures.n_modified_true,
    stg_measures.n_modified_told,
    stg_measures.n_modified_right,
    stg_measures.n_read_true,
    stg_measures.n_read_told,
    stg_measures.n_read_right,
    stg_measures.n_any_true,
    stg_measures.n_any_told,
    stg_measures.n_any_right,
    stg_measures.session_id,
    stg_measures.cycle,
    stg_measures.reason,
    stg_methods.is_current
from stg_measures
inner join stg_methods on stg_measures.method_id = stg_methods.method_id;

comment on column artifact_exact.compaction_id is 'Compaction';
comment on column artifact_exact.point_id is 'Its point';
comment on column artifact_exact.method is 'Name of its method, unique';
comment on column artifact_exact.method_id is 'Its method';
comment on column artifact_exact.created_precision is
'Of the files that the context tells were created, the share 0–1 that were; NULL where it tells none';
comment on column artifact_exact.created_recall is
'Of the files that were created, the share 0–1 that the context tells; NULL where there are none';
comment on column artifact_exact.modified_precision is
'Of the files that the context tells were modified, the share 0–1 that were; NULL where it tells none';
comment on column artifact_exact.modified_recall is
'Of the files that were modified, the share 0–1 that the context tells; NULL where there are none';
comment on column artifact_exact.read_precision is
'Of the files that the context tells were read and never changed, the share 0–1 that were; NULL where it tells none';
comment on column artifact_exact.read_recall is
'Of the files that were read and never changed, the share 0–1 that the context tells; NULL where there are none';
comment on column artifact_exact.any_precision is
'Of the files that the context tells were created, modified or read, the share 0–1 that were; NULL where it tells none';
comment on column artifact_exact.any_recall is
'Of the files that were created, modified or read, the share 0–1 that the context tells; NULL where there are none';
comment on column artifact_exact.n_created_true is 'Files that the tool calls before the point created';
comment on column artifact_exact.n_created_told is 'Files that the context tells so';
comment on column artifact_exact.n_created_right is 'Files that are in both; sum these to pool compactions';
comment on column artifact_exact.n_modified_true is 'Files that the tool calls before the point modified';
comment on column artifact_exact.n_modified_told is 'Files that the context tells so';
comment on column artifact_exact.n_modified_right is 'Files that are in both; sum these to pool compactions';
comment on column artifact_exact.n_read_true is 'Files that the tool calls before the point read and never changed';
comment on column artifact_exact.n_read_told is 'Files that the context tells so';
comment on column artifact_exact.n_read_right is 'Files that are in both; sum these to pool compactions';
comment on column artifact_exact.n_any_true is 'Files that the tool calls before the point created, modified or read';
comment on column artifact_exact.n_any_told is 'Files that the context tells so';
comment on column artifact_exact.n_any_right is 'Files that are in both; sum these to pool compactions';
comment on column artifact_exact.session_id is 'Session of the point';
comment on column artifact_exact.cycle is 'Number of the point in its session';
comment on column artifact_exact.reason is 'Why nothing is told of it (an opaque context, say); NULL where it is';
comment on column artifact_exact.is_current is 'Whether the newest run of the study asks for the method';
