-- What contexts tell of the statements of the probes of their point and of earlier points; one row per compaction ×
-- statement that was looked for in its context.
create table statement_states (
    compaction_id varchar not null,  -- Compaction whose context was searched
    session_id varchar not null,  -- Session of the compaction; naming it spares reading those of all others
    probe_id varchar not null,  -- Probe that states it: of the point of the compaction where it is asked there, else of
    -- the first point
    position integer not null check (position > 0),  -- Place of the statement in probes.statements, from 1
    since varchar not null,  -- Probe of the first point that stated it
    state varchar not null check (  -- readable (support of 0.5 or more), partly (0.25), lost; stale: the context says
    -- later what held before; contradicted: it says the opposite; unknown: only a provider can read the context
        state in ('readable', 'partly', 'stale', 'contradicted', 'lost', 'unknown')
    ),
    support double check (support between 0 and 1),  -- How far it can be read, 0–1, by the words and the structure of
    -- the context (docs/embedded-engine.md); NULL: unknown
    lines varchar,  -- The lines of the context that say most of it, shortened
    with_fetched double check (with_fetched between 0 and 1),  -- The same with what the method fetches for the
    -- question; NULL where it fetches nothing
    check ((support is null) = (state = 'unknown'))
);
