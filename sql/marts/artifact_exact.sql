-- One row per compaction that is done: which files its context still tells, against what the tool calls did.
--
-- Precision is right / told and recall right / true. The context as it was has 1 and 1, the empty one recall 0 and no
-- precision. No judge: docs/tokens-per-task.md says what counts as told.
create view artifact_exact as
select
    stg_measures.compaction_id,  -- Compaction
    stg_measures.point_id,  -- Its point
    stg_methods.method,  -- Name of its method, unique
    stg_measures.method_id,  -- Its method
    stg_measures.n_created_right / nullif(stg_measures.n_created_told, 0) as created_precision,  -- Of the files that
    -- the context tells were created, the share 0–1 that were; NULL where it tells none
    stg_measures.n_created_right / nullif(stg_measures.n_created_true, 0) as created_recall,  -- Of the files that were
    -- created, the share 0–1 that the context tells; NULL where there are none
    stg_measures.n_modified_right / nullif(stg_measures.n_modified_told, 0) as modified_precision,  -- Of the files that
    -- the context tells were modified, the share 0–1 that were; NULL where it tells none
    stg_measures.n_modified_right / nullif(stg_measures.n_modified_true, 0) as modified_recall,  -- Of the files that
    -- were modified, the share 0–1 that the context tells; NULL where there are none
    stg_measures.n_read_right / nullif(stg_measures.n_read_told, 0) as read_precision,  -- Of the files that the context
    -- tells were read and never changed, the share 0–1 that were; NULL where it tells none
    stg_measures.n_read_right / nullif(stg_measures.n_read_true, 0) as read_recall,  -- Of the files that were read and
    -- never changed, the share 0–1 that the context tells; NULL where there are none
    stg_measures.n_any_right / nullif(stg_measures.n_any_told, 0) as any_precision,  -- Of the files that the context
    -- tells were created, modified or read, the share 0–1 that were; NULL where it tells none
    stg_measures.n_any_right / nullif(stg_measures.n_any_true, 0) as any_recall,  -- Of the files that were created,
    -- modified or read, the share 0–1 that the context tells; NULL where there are none
    stg_measures.n_created_true,
    stg_measures.n_created_told,  -- Files that the context tells so
    stg_measures.n_created_right,  -- Files that are in both; sum these to pool compactions
    stg_measures.n_modified_true,
    stg_measures.n_modified_told,  -- Files that the context tells so
    stg_measures.n_modified_right,  -- Files that are in both; sum these to pool compactions
    stg_measures.n_read_true,
    stg_measures.n_read_told,  -- Files that the context tells so
    stg_measures.n_read_right,  -- Files that are in both; sum these to pool compactions
    stg_measures.n_any_true,
    stg_measures.n_any_told,  -- Files that the context tells so
    stg_measures.n_any_right,  -- Files that are in both; sum these to pool compactions
    stg_measures.session_id,  -- Session of the point
    stg_measures.cycle,  -- Number of the point in its session
    stg_measures.reason,  -- Why nothing is told of it (an opaque context, say); NULL where it is
    stg_methods.is_current
from stg_measures
inner join stg_methods on stg_measures.method_id = stg_methods.method_id;
