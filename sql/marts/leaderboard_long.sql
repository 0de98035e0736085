-- One row per judge × method × dimension (and 'overall').
--
-- The interval is clustered (`stg_clusters`, `cluster_figures`): answers of one session depend on each other. With a
-- single cluster there is no interval (NULL), because one says nothing of how they differ, and none where no
-- session differs from another: all at the ceiling, say.
create view leaderboard_long as
with figures as (
    select
        judge_id,
        method_id,
        dimension,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(score_sum), list(n_answers)) as scored
    from agg_cluster_scores
    group by judge_id, method_id, dimension
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.dimension,
    figures.scored.mean,  -- Mean over answers, 0 to 5
    figures.scored.std_error,  -- Standard error of the mean, clustered (CR2); NULL with a single cluster
    ci_low(figures.scored) as ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 0
    ci_high(figures.scored) as ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 5
    figures.scored.n as n_answers,  -- Answers that the mean is over
    figures.n_sessions,  -- Sessions that these answers are of
    figures.method_id,
    figures.scored.df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when
    -- few hold most answers
    stg_methods.is_current,
    figures.scored.n_clusters
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id
order by judges.judge, figures.judge_id, stg_methods.method, figures.dimension;
