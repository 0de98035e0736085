-- One row per judge × method × source × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_by_source as
select
    judge_id,
    judge,
    method,
    value as source,
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
where split = 'source'
order by judge, judge_id, method, source, dimension;

comment on column leaderboard_by_source.judge_id is 'Judge version';
comment on column leaderboard_by_source.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard_by_source.method is 'Name of the method';
comment on column leaderboard_by_source.source is 'Format that the session was recorded in, such as claude_code';
comment on column leaderboard_by_source.dimension is 'Dimension of the rubric, or overall';
comment on column leaderboard_by_source.mean is 'Mean over answers, 0 to 5';
comment on column leaderboard_by_source.std_error is
'Standard error of the mean, clustered by session (CR2); NULL with a single session';
comment on column leaderboard_by_source.ci_low is
'Lower end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 0';
comment on column leaderboard_by_source.ci_high is
'Upper end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 5';
comment on column leaderboard_by_source.n_answers is 'Answers that the mean is over';
comment on column leaderboard_by_source.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard_by_source.method_id is 'Identity of the method';
comment on column leaderboard_by_source.df is
'Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most answers';
comment on column leaderboard_by_source.is_current is 'Whether the newest run of the study asks for the method';
