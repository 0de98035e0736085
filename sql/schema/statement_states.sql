-- One row per compaction × statement that was looked for in its context.
create table statement_states (
    compaction_id varchar not null,
    probe_id varchar not null,
    position integer not null check (position > 0),
    since varchar not null,
    state varchar not null check (
        state in ('readable', 'partly', 'stale', 'contradicted', 'lost', 'unknown')
    ),
    support double check (support between 0 and 1),
    lines varchar,
    with_fetched double check (with_fetched between 0 and 1),
    check ((support is null) = (state = 'unknown'))
);

comment on table statement_states is
'What contexts tell of the statements of the probes of their point and of earlier points; one row per compaction × '
'statement that was looked for in its context';
comment on column statement_states.compaction_id is 'Compaction whose context was searched';
comment on column statement_states.probe_id is
'Probe that states it: of the point of the compaction where it is asked there, else of the first point';
comment on column statement_states.position is 'Place of the statement in probes.statements, from 1';
comment on column statement_states.since is 'Probe of the first point that stated it';
comment on column statement_states.state is
'readable (support of 0.5 or more), partly (0.25), lost; stale: the context says later what held before; contradicted: '
'it says the opposite; unknown: only a provider can read the context';
comment on column statement_states.support is
'How far it can be read, 0–1, by the words and the structure of the context (docs/embedded-engine.md); NULL: unknown';
comment on column statement_states.lines is 'The lines of the context that say most of it, shortened';
comment on column statement_states.with_fetched is
'The same with what the method fetches for the question; NULL where it fetches nothing';
