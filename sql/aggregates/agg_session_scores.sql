-- One row per judge × method × session × dimension (and 'overall'): its answers' scores.
create view agg_session_scores as
select
    judge_id,
    method_id,
    (select m.method from stg_methods as m where m.method_id = int_answer_scores.method_id) as method,
    session_id,
    dimension,
    sum(score) as score_sum,  -- Sum of the answers' scores
    count(*) as n_answers  -- Answers with a score
from int_answer_scores
group by judge_id, method_id, session_id, dimension;
