-- One row per judge × method that is not whole tonight: answers of sessions that had scores before have none now,
-- although their text is the same, and something of the method is missing or failed (a provider that was down, a budget
-- that was spent). Later nights are compared with the last night in which it was whole.
--
-- It reads the database and `night_methods`.
with best as (
    select
        judge_id,
        method,
        session_id,
        content_sha256,
        max(n_answers) as n_answers
    from night_sums
    where dimension = 'overall'
    group by judge_id, method, session_id, content_sha256
),

now as (
    select
        agg_session_scores.judge_id,
        night_methods.method,
        agg_session_scores.session_id,
        agg_session_scores.n_answers
    from agg_session_scores
    inner join night_methods on agg_session_scores.method_id = night_methods.method_id
    where agg_session_scores.dimension = 'overall'
),

lost as (
    select distinct
        best.judge_id,
        best.method
    from best
    semi join points on best.session_id = points.session_id
    inner join sessions on best.session_id = sessions.session_id and best.content_sha256 = sessions.content_sha256
    left join now
        on best.judge_id = now.judge_id and best.method = now.method and best.session_id = now.session_id
    where coalesce(now.n_answers, 0) < best.n_answers
),

undone as (
    select
        coverage_by_judge.judge_id,
        coverage_by_judge.method_id
    from coverage_by_judge
    where coverage_by_judge.unscored + coverage_by_judge.missing > 0
    union
    select
        judges.judge_id,
        stg_methods.method_id
    from coverage
    inner join stg_methods on coverage.method_id is null or coverage.method_id = stg_methods.method_id
    cross join judges
    where coverage.stage in ('compaction', 'probe', 'answer') and coverage.failed + coverage.missing > 0
)

select distinct
    lost.judge_id,
    lost.method
from lost
inner join night_methods on lost.method = night_methods.method
semi join undone on lost.judge_id = undone.judge_id and night_methods.method_id = undone.method_id
