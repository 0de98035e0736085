-- One row per judge × method × outcome of the session × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_resolved as
select * exclude (split) rename (value as resolved)  -- Whether the task was solved, as the log says: yes, no, unknown
from agg_splits
where split = 'resolved'
order by judge, judge_id, method, resolved, dimension;
