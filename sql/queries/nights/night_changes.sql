-- One row per judge × method × dimension × session whose sums are not as at the night before.
--
-- It reads the database and `night_methods`. The order in which threads add up decides the last digits of a sum: sums
-- are rounded, and those that differ by less than a billionth are the same.
with before as (
    select
        judge_id,
        method,
        dimension,
        session_id,
        arg_max(content_sha256, night) as content_sha256,
        arg_max(score_sum, night) as score_sum,
        arg_max(n_answers, night) as n_answers
    from night_sums
    group by judge_id, method, dimension, session_id
    having arg_max(n_answers, night) > 0
),

now as (
    select
        agg_session_scores.judge_id,
        night_methods.method,
        agg_session_scores.dimension,
        agg_session_scores.session_id,
        sessions.content_sha256,
        agg_session_scores.n_answers,
        round(agg_session_scores.score_sum, 9) as score_sum
    from agg_session_scores
    inner join sessions on agg_session_scores.session_id = sessions.session_id
    inner join night_methods on agg_session_scores.method_id = night_methods.method_id
)

select
    coalesce(now.judge_id, before.judge_id) as judge_id,
    coalesce(now.method, before.method) as method,
    coalesce(now.dimension, before.dimension) as dimension,
    coalesce(now.session_id, before.session_id) as session_id,
    coalesce(now.content_sha256, before.content_sha256) as content_sha256,
    coalesce(now.score_sum, 0) as score_sum,
    coalesce(now.n_answers, 0) as n_answers
from now
full outer join before
    on
        now.judge_id = before.judge_id
        and now.method = before.method
        and now.dimension = before.dimension
        and now.session_id = before.session_id
where
    now.n_answers is distinct from before.n_answers
    or now.content_sha256 is distinct from before.content_sha256
    or abs(now.score_sum - before.score_sum) > 1e-9
