-- One row per judge × method × session × dimension (and 'overall'): what clustered means and their errors need.
create view agg_session_scores as
select
    judge_id,
    method_id,
    session_id,
    dimension,
    sum(score) as score_sum,
    count(*) as n_answers
from int_answer_scores
group by judge_id, method_id, session_id, dimension;

comment on column agg_session_scores.judge_id is 'Judge version';
comment on column agg_session_scores.method_id is 'Identity of the method';
comment on column agg_session_scores.session_id is 'Session';
comment on column agg_session_scores.dimension is 'Dimension of the rubric, or overall';
comment on column agg_session_scores.score_sum is 'Sum of the answers'' scores';
comment on column agg_session_scores.n_answers is 'Answers with a score';
