-- Runs of the pipeline on this store; one row per run.
create table runs (
    run_id varchar not null,  -- Identity of the run
    study varchar not null,  -- Effective study: defaults, file and flags together
    versions varchar not null check (json_valid(versions)),  -- Versions of the project and of what it stands on, as
    -- JSON text
    counts varchar not null check (json_valid(counts)),  -- What the run did, by stage, as JSON text
    started_at timestamp not null,  -- Start in UTC
    ended_at timestamp,  -- End in UTC; NULL for a run that did not get to write it
    status varchar not null,  -- How the run ended, in a word
    exit_code integer check (exit_code between 0 and 4)  -- 0 done, 1 broken, 2 bad study, 3 some items failed, 4
    -- stopped at the budget; NULL while running
);
