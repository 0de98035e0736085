-- One row per judge × method × probe type × dimension (and 'overall').
--
-- The interval is clustered by session: answers of one session depend on each other. With a single session there is no
-- interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_by_probe_type as
with sessions_of_split as (
    select
        judge_id,
        method_id,
        session_id,
        probe_type,
        dimension,
        sum(score) as score_sum,
        count(*) as n_answers
    from int_answer_scores
    group by judge_id, method_id, session_id, probe_type, dimension
),

figures as (
    select
        judge_id,
        method_id,
        probe_type,
        dimension,
        cluster_mean(score_sum, n_answers) as mean,
        cluster_std_error(score_sum, n_answers) as std_error,
        cast(sum(n_answers) as bigint) as n_answers,
        count(*) as n_sessions
    from sessions_of_split
    group by judge_id, method_id, probe_type, dimension
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.probe_type,
    figures.dimension,
    figures.mean,
    figures.std_error,
    figures.mean - t_quantile(0.975, figures.n_sessions - 1) * figures.std_error as ci_low,
    figures.mean + t_quantile(0.975, figures.n_sessions - 1) * figures.std_error as ci_high,
    figures.n_answers,
    figures.n_sessions,
    figures.method_id
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id
order by judges.judge, figures.judge_id, stg_methods.method, figures.probe_type, figures.dimension;

comment on column leaderboard_by_probe_type.judge_id is 'Judge version';
comment on column leaderboard_by_probe_type.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard_by_probe_type.method is 'Name of the method';
comment on column leaderboard_by_probe_type.probe_type is 'recall, artifact, continuation or decision';
comment on column leaderboard_by_probe_type.dimension is 'Dimension of the rubric, or overall';
comment on column leaderboard_by_probe_type.mean is 'Mean over answers, 0 to 5';
comment on column leaderboard_by_probe_type.std_error is
'Standard error of the mean, clustered by session; NULL with a single session';
comment on column leaderboard_by_probe_type.ci_low is
'Lower end of the 95 % interval (t, sessions - 1 degrees of freedom); not cut off at 0';
comment on column leaderboard_by_probe_type.ci_high is
'Upper end of the 95 % interval (t, sessions - 1 degrees of freedom); not cut off at 5';
comment on column leaderboard_by_probe_type.n_answers is 'Answers that the mean is over';
comment on column leaderboard_by_probe_type.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard_by_probe_type.method_id is 'Identity of the method';
