-- Invariants with their violations when this database was made; one row per invariant.
--
-- The rows behind a count are in the view check_<invariant>.
create table checks (
    invariant varchar not null,  -- Name of the invariant
    violations bigint not null,  -- Rows that break it; 0 = holds
    meaning varchar not null  -- What holds
);
