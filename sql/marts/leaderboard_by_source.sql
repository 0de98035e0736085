-- One row per judge × method × source × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_source as
select * exclude (split) rename (value as source)  -- Format that the session was recorded in, such as claude_code
from agg_splits
where split = 'source'
order by judge, judge_id, method, source, dimension;
