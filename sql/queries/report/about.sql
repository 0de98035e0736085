-- One row: which store a report is of, its last run, and how much of everything there is.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
with last_run as (
    select *
    from runs
    qualify row_number() over (order by started_at desc) = 1
),

counts as (
    select
        (select count(*) from runs) as n_runs,
        (select count(*) from sessions) as n_sessions,
        (select cast(coalesce(sum(n_messages), 0) as bigint) from sessions) as n_messages,
        (
            select count(distinct nullif(cluster, session_id))
            from stg_clusters
            where cluster_unit = 'project' and session_id in (select points.session_id from points)
        ) as n_projects,
        (select count(*) from inputs) as n_inputs,
        (select count(*) from quarantine) as n_quarantined,
        (select count(*) from points) as n_points,
        (select count(*) from probes) as n_probes,
        (select count(*) from answers where status = 'done') as n_answers,
        (select count(distinct session_id) from agg_session_scores where judge_id = getvariable('judge_id'))
            as n_sessions_scored,
        (
            select cast(coalesce(sum(n_answers), 0) as bigint)
            from leaderboard
            where judge_id = getvariable('judge_id') and is_current
        )
            as n_answers_scored,
        (
            select cast(coalesce(sum(n_unscored), 0) as bigint)
            from leaderboard
            where judge_id = getvariable('judge_id') and is_current
        )
            as n_unscored,
        (
            select cast(coalesce(sum(missing), 0) as bigint)
            from coverage_by_judge
            where judge_id = getvariable('judge_id')
        ) as n_not_judged,
        (select cast(coalesce(sum(failed), 0) as bigint) from coverage where stage in ('compaction', 'probe', 'answer'))
            as n_failed,
        (
            select cast(coalesce(sum(expected), 0) as bigint)
            from coverage
            where stage = 'probe_not_asked'
        ) as n_not_asked,
        (select count(*) from checks where violations > 0) as n_checks_broken,
        (select count(*) from checks) as n_checks,
        (select list_sort(list(distinct responder)) from stg_answers) as responders,
        (select list_sort(list(distinct summarizer)) from methods where summarizer is not null) as summarizers,
        (select list_sort(list(distinct prober)) from probes) as probers
)

select
    store_info.made_by,
    store_info.made_at,
    store_info.tokenizer,
    store_info.study_key,
    last_run.run_id,
    last_run.started_at as run_started_at,
    last_run.ended_at as run_ended_at,
    last_run.status as run_status,
    last_run.versions,
    last_run.study,
    counts.n_runs,
    counts.n_sessions,
    counts.n_messages,
    counts.n_projects,
    counts.n_inputs,
    counts.n_quarantined,
    counts.n_points,
    counts.n_probes,
    counts.n_answers,
    counts.n_sessions_scored,
    counts.n_answers_scored,
    counts.n_unscored,
    counts.n_not_judged,
    counts.n_failed,
    counts.n_not_asked,
    counts.n_checks_broken,
    counts.n_checks,
    counts.responders,
    counts.summarizers,
    counts.probers
from store_info
cross join counts
left join last_run on true
