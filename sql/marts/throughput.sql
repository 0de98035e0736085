-- One row per run × stage that did something or looked at something.
create view throughput as
select
    run_stages.run_id,
    runs.started_at as run_started_at,
    run_stages.stage,
    run_stages.unit,
    run_stages.done + run_stages.failed as items,
    run_stages.sessions,
    run_stages.sessions_settled,
    run_stages.seconds,
    (run_stages.done + run_stages.failed) / nullif(run_stages.seconds, 0) as items_per_second,
    run_stages.seconds / nullif(run_stages.sessions, 0) as seconds_per_session,
    run_stages.busy_seconds / nullif(run_stages.seconds, 0) as tasks_side_by_side,
    (run_stages.cpu_seconds + run_stages.driver_cpu_seconds) / nullif(run_stages.seconds, 0) as cores_used,
    run_stages.seconds
    / nullif(sum(run_stages.seconds) over (partition by run_stages.run_id), 0) as share_of_run,
    run_stages.peak_memory_bytes
from run_stages
inner join runs on run_stages.run_id = runs.run_id
where run_stages.tasks > 0 or run_stages.sessions > 0 or run_stages.done > 0;

comment on column throughput.run_id is 'Run';
comment on column throughput.run_started_at is 'When the run was started, in UTC';
comment on column throughput.stage is 'Stage';
comment on column throughput.unit is 'What its items are';
comment on column throughput.items is 'Items that were worked on, failed ones included';
comment on column throughput.sessions is 'Sessions that were looked at; NULL where a stage does not go by sessions';
comment on column throughput.sessions_settled is 'Sessions that were passed over, because nothing was left to do there';
comment on column throughput.seconds is 'Wall time in seconds';
comment on column throughput.items_per_second is 'Items a second of wall time';
comment on column throughput.seconds_per_session is 'Wall time in seconds a session that was looked at';
comment on column throughput.tasks_side_by_side is 'Tasks that ran at the same time, on average';
comment on column throughput.cores_used is 'Processors that the run''s processes kept busy, on average';
comment on column throughput.share_of_run is 'Share (0–1) of the time of all stages of the run';
comment on column throughput.peak_memory_bytes is 'Most memory that one process which did a task had until then';
