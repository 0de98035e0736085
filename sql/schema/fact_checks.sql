-- One row per compaction × probe whose facts were looked for in its context.
create table fact_checks (
    compaction_id varchar not null,
    probe_id varchar not null,
    positions integer[] not null,
    stated boolean[] not null,
    check (len(positions) = len(stated))
);

comment on table fact_checks is
'Whether contexts still state the facts of the probes of their point and of earlier points; one row per compaction × '
'probe whose facts were looked for in its context';
comment on column fact_checks.compaction_id is 'Compaction whose context was searched';
comment on column fact_checks.probe_id is 'Probe of the first point that stated the facts';
comment on column fact_checks.positions is 'Places of the facts in probes.facts, from 1';
comment on column fact_checks.stated is 'For each of them whether the context states it';
