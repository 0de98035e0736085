-- One row per judge × method × dimension (and 'overall').
--
-- The interval is clustered by session (`cluster_figures`): answers of one session depend on each other. With a single
-- session there is no interval (NULL), because one session says nothing of how sessions differ, and none where no
-- session differs from another: all at the ceiling, say.
create view leaderboard_long as
with figures as (
    select
        judge_id,
        method_id,
        dimension,
        cluster_figures(list(score_sum), list(n_answers)) as scored
    from agg_session_scores
    group by judge_id, method_id, dimension
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.dimension,
    figures.scored.mean,  -- Mean over answers, 0 to 5
    figures.scored.std_error,  -- Standard error of the mean, clustered by session (CR2); NULL with a single session
    ci_low(figures.scored) as ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 0
    ci_high(figures.scored) as ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 5
    figures.scored.n as n_answers,  -- Answers that the mean is over
    figures.scored.n_clusters as n_sessions,  -- Sessions that these answers are of
    figures.method_id,
    figures.scored.df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when
    -- few hold most answers
    stg_methods.is_current
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id
order by judges.judge, figures.judge_id, stg_methods.method, figures.dimension;
