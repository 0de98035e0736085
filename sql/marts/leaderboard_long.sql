-- One row per judge × method × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ.
create view leaderboard_long as
with figures as (
    select
        judge_id,
        method_id,
        dimension,
        cluster_figures(list(score_sum), list(n_answers)) as scored
    from agg_session_scores
    group by judge_id, method_id, dimension
),

with_quantile as (
    select
        *,
        t_quantile(0.975, scored.df) as quantile
    from figures
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.dimension,
    figures.scored.mean,
    figures.scored.std_error,
    figures.scored.mean - figures.quantile * figures.scored.std_error as ci_low,
    figures.scored.mean + figures.quantile * figures.scored.std_error as ci_high,
    figures.scored.n as n_answers,
    figures.scored.n_clusters as n_sessions,
    figures.method_id,
    figures.scored.df,
    stg_methods.is_current
from with_quantile as figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id
order by judges.judge, figures.judge_id, stg_methods.method, figures.dimension;

comment on column leaderboard_long.judge_id is 'Judge version';
comment on column leaderboard_long.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard_long.method is 'Name of the method';
comment on column leaderboard_long.dimension is 'Dimension of the rubric, or overall';
comment on column leaderboard_long.mean is 'Mean over answers, 0 to 5';
comment on column leaderboard_long.std_error is
'Standard error of the mean, clustered by session (CR2); NULL with a single session';
comment on column leaderboard_long.ci_low is
'Lower end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 0';
comment on column leaderboard_long.ci_high is
'Upper end of the 95 % interval (Student''s t with df degrees of freedom); not cut off at 5';
comment on column leaderboard_long.n_answers is 'Answers that the mean is over';
comment on column leaderboard_long.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard_long.method_id is 'Identity of the method';
comment on column leaderboard_long.df is
'Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when few hold most answers';
comment on column leaderboard_long.is_current is 'Whether the newest run of the study asks for the method';
