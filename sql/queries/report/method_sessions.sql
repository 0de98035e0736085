-- One row per session with a scored question: a method's mean there beside another's, the farthest apart first.
--
-- Parameters (variables):
--   judge_id   judge version that the page is of
--   method     the method
--   other      the method beside it
--   find       part of a title or id; blank for all
with given as (
    select
        agg_session_scores.session_id,
        stg_methods.method,
        agg_session_scores.score_sum / agg_session_scores.n_answers as mean
    from agg_session_scores
    inner join stg_methods on agg_session_scores.method_id = stg_methods.method_id
    where
        stg_methods.is_current
        and agg_session_scores.judge_id = getvariable('judge_id')
        and agg_session_scores.dimension = 'overall'
),

means as (
    select
        session_id,
        max(if(method = getvariable('method'), mean, null)) as mean,
        max(if(method = getvariable('other'), mean, null)) as other_mean
    from given
    group by session_id
),

cut as (
    select
        session_id,
        count(*) as n_points
    from points
    group by session_id
)

select
    means.session_id,
    sessions.title,
    sessions.source_format,
    sessions.task_type,
    means.mean,
    means.other_mean,
    cut.n_points,
    count(*) over () as n_sessions
from means
inner join sessions on means.session_id = sessions.session_id
inner join cut on means.session_id = cut.session_id
where
    means.mean is not null
    and (
        contains(lower(coalesce(sessions.title, '')), lower(getvariable('find')))
        or contains(lower(means.session_id), lower(getvariable('find')))
    )
order by round(abs(means.mean - coalesce(means.other_mean, means.mean)), 9) desc, means.session_id
