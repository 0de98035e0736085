-- One row per judge × method × length of session × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_length as
select * exclude (split) rename (value as length)  -- Tokens of the session: short below 32,000, medium below
-- 128,000, long from there on
from agg_splits
where split = 'length'
order by judge, judge_id, method, length, dimension;
