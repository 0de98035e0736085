-- One row per invariant, as it was found when this database was made.
--
-- The rows behind a count are in the view check_<invariant>.
create table checks (
    invariant varchar not null,
    violations bigint not null,
    meaning varchar not null
);

comment on table checks is 'Invariants with their violations when this database was made; one row per invariant';
comment on column checks.invariant is 'Name of the invariant';
comment on column checks.violations is 'Rows that break it; 0 = holds';
comment on column checks.meaning is 'What holds';
