-- Questions that were not made; one row per point × probe type × prober.
create table probes_not_asked (
    point_id varchar not null,  -- Point at which there is no question of this type
    probe_type varchar not null check (probe_type in ('recall', 'artifact', 'continuation', 'decision', 'constraint')),
    reason varchar not null,  -- Why there is no question
    prober varchar not null,  -- What would have made the question
    status varchar not null check (status in ('not_asked', 'failed'))  -- not_asked: the history holds no truth for it;
    -- failed: the prober did not get to it
);
