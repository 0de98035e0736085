-- One row per run.
create table runs (
    run_id varchar not null,
    study varchar not null,
    versions varchar not null check (json_valid(versions)),
    counts varchar not null check (json_valid(counts)),
    started_at timestamp not null,
    ended_at timestamp,
    status varchar not null,
    exit_code integer check (exit_code between 0 and 4)
);

comment on table runs is
'Runs of the pipeline on this store; one row per run';
comment on column runs.run_id is 'Identity of the run';
comment on column runs.study is 'Effective study: defaults, file and flags together';
comment on column runs.versions is 'Versions of the project and of what it stands on, as JSON text';
comment on column runs.counts is 'What the run did, by stage, as JSON text';
comment on column runs.started_at is 'Start in UTC';
comment on column runs.ended_at is 'End in UTC; NULL for a run that did not get to write it';
comment on column runs.status is 'How the run ended, in a word';
comment on column runs.exit_code is
'0 done, 1 broken, 2 bad study, 3 some items failed, 4 stopped at the budget; NULL while running';
