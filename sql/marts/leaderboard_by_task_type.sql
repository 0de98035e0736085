-- One row per judge × method × task type × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_task_type as
select * exclude (split) rename (value as task_type)
from agg_splits
where split = 'task_type'
order by judge, judge_id, method, task_type, dimension;
