-- One row per judge × method × probe type × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_probe_type as
select * exclude (split) rename (value as probe_type)
from agg_splits
where split = 'probe_type'
order by judge, judge_id, method, probe_type, dimension;
