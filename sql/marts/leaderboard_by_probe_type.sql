-- One row per judge × method × probe type × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_by_probe_type as
select
    judge_id,
    judge,
    method,
    value as probe_type,
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
where split = 'probe_type'
order by judge, judge_id, method, probe_type, dimension;

comment on column leaderboard_by_probe_type.judge_id is 'Judge version';
comment on column leaderboard_by_probe_type.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard_by_probe_type.method is 'Name of the method';
comment on column leaderboard_by_probe_type.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column leaderboard_by_probe_type.dimension is 'Dimension of the rubric, or overall';
comment on column leaderboard_by_probe_type.mean is 'Mean over answers, 0 to 5';
comment on column leaderboard_by_probe_type.std_error is
'Standard error of the mean, clustered by session (CR2); NULL with a single session';
comment on column leaderboard_by_probe_type.ci_low is
'Lower end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 0';
comment on column leaderboard_by_probe_type.ci_high is
'Upper end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 5';
comment on column leaderboard_by_probe_type.n_answers is 'Answers that the mean is over';
comment on column leaderboard_by_probe_type.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard_by_probe_type.method_id is 'Identity of the method';
comment on column leaderboard_by_probe_type.df is
'Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most answers';
comment on column leaderboard_by_probe_type.is_current is 'Whether the newest run of the study asks for the method';
