-- One row per judge × method × cycle × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ.
create view leaderboard_by_cycle as
select
    judge_id,
    judge,
    method,
    cast(value as integer) as cycle,  -- Number of the compaction point within its session, from 1
    dimension,
    mean,  -- Mean over answers, 0 to 5
    std_error,  -- Standard error of the mean, clustered (CR2); NULL with a single cluster
    ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not cut off at 0
    ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not cut off at 5
    n_answers,  -- Answers that the mean is over
    n_sessions,  -- Sessions that these answers are of
    method_id,
    df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most
    -- answers
    is_current,
    n_clusters,
    mean_for_rank  -- Mean; of a method that is not applicable everywhere what its paired differences to the
    -- others come to, 0 to 5; NULL where these are of fewer than five sessions
from agg_splits
where split = 'cycle'
order by judge, judge_id, method, cycle, dimension;
