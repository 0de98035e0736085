-- One row per point × probe type × prober.
create table probes_not_asked (
    point_id varchar not null,
    probe_type varchar not null check (probe_type in ('recall', 'artifact', 'continuation', 'decision', 'constraint')),
    reason varchar not null,
    prober varchar not null,
    status varchar not null check (status in ('not_asked', 'failed'))
);

comment on table probes_not_asked is
'Questions that were not made; one row per point × probe type × prober';
comment on column probes_not_asked.point_id is 'Point at which there is no question of this type';
comment on column probes_not_asked.probe_type is 'recall, artifact, continuation, decision or constraint';
comment on column probes_not_asked.reason is 'Why there is no question';
comment on column probes_not_asked.prober is 'What would have made the question';
comment on column probes_not_asked.status is
'not_asked: the history holds no truth for it; failed: the prober did not get to it';
