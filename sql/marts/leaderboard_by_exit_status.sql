-- One row per judge × method × exit status of the session × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_exit_status as
select * exclude (split) rename (value as exit_status)  -- How the run ended, in the log's own words; or unknown
from agg_splits
where split = 'exit_status'
order by judge, judge_id, method, exit_status, dimension;
