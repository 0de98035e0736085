-- What every stage of every run did and took, as far as the run got; one row per run × stage.
create table run_stages (
    run_id varchar not null,  -- Run
    stage varchar not null,  -- Stage: ingest, settle, points, compact, summarize (compactions for which a language
    -- model is asked), probe, measure, replay, answer, next_action, score, anchors,
    -- load
    unit varchar not null,  -- What its items are: inputs, sessions, compactions, answers …
    started_at timestamp not null,  -- When it was begun, in UTC
    seconds double not null check (seconds >= 0),  -- Wall time in seconds, with the finding of what is to be done; of
    -- load without the renaming of the finished file
    busy_seconds double not null check (busy_seconds >= 0),  -- Wall time of its tasks in seconds, added up where they
    -- ran: divided by seconds, how many ran side by side
    cpu_seconds double not null check (cpu_seconds >= 0),  -- Processor time of the worker processes in seconds; 0 where
    -- the tasks are done in the run's own process: those that wait for a language model, and those of a small run
    driver_cpu_seconds double not null check (driver_cpu_seconds >= 0),  -- Processor time of the run's own process in
    -- seconds: planning, Prefect, progress, and the tasks that are done in it
    peak_memory_bytes bigint check (peak_memory_bytes > 0),  -- Most memory that one process which did a task had until
    -- then, earlier stages included; NULL where there was no task
    tasks bigint not null check (tasks >= 0),  -- Tasks (of Prefect) that were finished
    retries bigint not null check (retries >= 0),  -- Tasks that were begun again, because their worker process had died
    done bigint not null check (done >= 0),  -- Items done
    failed bigint not null check (failed >= 0),  -- Items failed; the next run tries them again
    items_left bigint not null check (items_left >= 0),  -- Items not begun, because the budget was spent
    sessions bigint check (sessions >= 0),  -- Sessions that were looked at; NULL where a stage does not go by sessions
    sessions_settled bigint check (sessions_settled >= 0)  -- Sessions that were passed over, because an earlier run was
    -- through with them; NULL as in sessions
);
