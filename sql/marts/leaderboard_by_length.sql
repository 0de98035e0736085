-- One row per judge × method × length of session × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_by_length as
select
    judge_id,
    judge,
    method,
    value as length,
    dimension,
    mean,
    std_error,
    ci_low,
    ci_high,
    n_answers,
    n_sessions,
    method_id,
    df,
    is_current
from agg_splits
where split = 'length'
order by judge, judge_id, method, length, dimension;

comment on column leaderboard_by_length.judge_id is 'Judge version';
comment on column leaderboard_by_length.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard_by_length.method is 'Name of the method';
comment on column leaderboard_by_length.length is
'Tokens of the session: short below 32,000, medium below 128,000, long from there on';
comment on column leaderboard_by_length.dimension is 'Dimension of the rubric, or overall';
comment on column leaderboard_by_length.mean is 'Mean over answers, 0 to 5';
comment on column leaderboard_by_length.std_error is
'Standard error of the mean, clustered by session (CR2); NULL with a single session';
comment on column leaderboard_by_length.ci_low is
'Lower end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 0';
comment on column leaderboard_by_length.ci_high is
'Upper end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 5';
comment on column leaderboard_by_length.n_answers is 'Answers that the mean is over';
comment on column leaderboard_by_length.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard_by_length.method_id is 'Identity of the method';
comment on column leaderboard_by_length.df is
'Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most answers';
comment on column leaderboard_by_length.is_current is 'Whether the newest run of the study asks for the method';
