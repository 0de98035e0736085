-- One row per run × stage.
create table run_stages (
    run_id varchar not null,
    stage varchar not null,
    unit varchar not null,
    started_at timestamp not null,
    seconds double not null check (seconds >= 0),
    busy_seconds double not null check (busy_seconds >= 0),
    cpu_seconds double not null check (cpu_seconds >= 0),
    driver_cpu_seconds double not null check (driver_cpu_seconds >= 0),
    peak_memory_bytes bigint check (peak_memory_bytes > 0),
    tasks bigint not null check (tasks >= 0),
    retries bigint not null check (retries >= 0),
    done bigint not null check (done >= 0),
    failed bigint not null check (failed >= 0),
    items_left bigint not null check (items_left >= 0),
    sessions bigint check (sessions >= 0),
    sessions_settled bigint check (sessions_settled >= 0)
);

comment on table run_stages is
'What every stage of every run did and took, as far as the run got; one row per run × stage';
comment on column run_stages.run_id is 'Run';
comment on column run_stages.stage is
'Stage: ingest, settle, points, compact, summarize (compactions for which a language model is asked), probe, measure, '
'answer, score, anchors, load';
comment on column run_stages.unit is 'What its items are: inputs, sessions, compactions, answers …';
comment on column run_stages.started_at is 'When it was begun, in UTC';
comment on column run_stages.seconds is
'Wall time in seconds, with the finding of what is to be done; of load without the renaming of the finished file';
comment on column run_stages.busy_seconds is
'Wall time of its tasks in seconds, added up where they ran: divided by seconds, how many ran side by side';
comment on column run_stages.cpu_seconds is
'Processor time of the worker processes in seconds; 0 where the tasks wait for a language model, which they do in the '
'run''s own process';
comment on column run_stages.driver_cpu_seconds is
'Processor time of the run''s own process in seconds: planning, Prefect, progress, and the tasks that wait for a model';
comment on column run_stages.peak_memory_bytes is
'Most memory that one process which did a task had until then, earlier stages included; NULL where there was no task';
comment on column run_stages.tasks is 'Tasks (of Prefect) that were finished';
comment on column run_stages.retries is 'Tasks that were begun again, because their worker process had died';
comment on column run_stages.done is 'Items done';
comment on column run_stages.failed is 'Items failed; the next run tries them again';
comment on column run_stages.items_left is 'Items not begun, because the budget was spent';
comment on column run_stages.sessions is 'Sessions that were looked at; NULL where a stage does not go by sessions';
comment on column run_stages.sessions_settled is
'Sessions that were passed over, because an earlier run was through with them; NULL as in sessions';
