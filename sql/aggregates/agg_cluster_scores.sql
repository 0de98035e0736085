-- One row per judge × method × cluster (`stg_clusters`) × dimension (and 'overall'): what clustered means need.
create view agg_cluster_scores as
with per_session as (
    select
        judge_id,
        method_id,
        session_id,
        dimension,
        sum(score) as score_sum,
        count(*) as n_answers
    from int_answer_scores
    group by judge_id, method_id, session_id, dimension
)

select
    scores.judge_id,
    scores.method_id,
    (select m.method from stg_methods as m where m.method_id = scores.method_id) as method,
    stg_clusters.cluster,  -- Project or session
    scores.dimension,
    sum(scores.score_sum) as score_sum,  -- Sum of the answers' scores
    cast(sum(scores.n_answers) as bigint) as n_answers,  -- Answers with a score
    count(*) as n_sessions  -- Sessions of the cluster
from per_session as scores
inner join stg_clusters on scores.session_id = stg_clusters.session_id
group by scores.judge_id, scores.method_id, stg_clusters.cluster, scores.dimension;
