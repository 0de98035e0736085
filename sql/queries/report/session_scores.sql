-- One row per session × method: its mean overall there.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    agg_session_scores.session_id,
    stg_methods.method,
    agg_session_scores.score_sum / agg_session_scores.n_answers as mean,
    agg_session_scores.n_answers
from agg_session_scores
inner join stg_methods on agg_session_scores.method_id = stg_methods.method_id
where
    stg_methods.is_current
    and agg_session_scores.judge_id = getvariable('judge_id')
    and agg_session_scores.dimension = 'overall'
order by agg_session_scores.session_id, stg_methods.method
