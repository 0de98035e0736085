-- One row per judge × method × length of session × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_by_length as
select
    judge_id,
    judge,
    method,
    value as length,  -- Tokens of the session: short below 32,000, medium below 128,000, long from there on
    dimension,
    mean,  -- Mean over answers, 0 to 5
    std_error,  -- Standard error of the mean, clustered by session (CR2); NULL with a single session
    ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not cut off at 0
    ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not cut off at 5
    n_answers,  -- Answers that the mean is over
    n_sessions,  -- Sessions that these answers are of
    method_id,
    df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most
    -- answers
    is_current
from agg_splits
where split = 'length'
order by judge, judge_id, method, length, dimension;
