-- One row per judge version × method (by name) × probe with a score: the mean of overall over the method's answers.
select
    int_answer_scores.judge_id,
    stg_methods.method,
    int_answer_scores.session_id,
    int_answer_scores.probe_id,
    stg_clusters.cluster,
    avg(int_answer_scores.score) as overall
from int_answer_scores
inner join stg_methods on int_answer_scores.method_id = stg_methods.method_id
inner join stg_clusters on int_answer_scores.session_id = stg_clusters.session_id
where int_answer_scores.dimension = 'overall' and stg_methods.is_current
group by
    int_answer_scores.judge_id, stg_methods.method, int_answer_scores.session_id, int_answer_scores.probe_id,
    stg_clusters.cluster
