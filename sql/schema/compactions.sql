-- One row per point × method × replicate.
create table compactions (
    compaction_id varchar not null,
    point_id varchar not null,
    method_id varchar not null,
    replicate integer not null check (replicate >= 0),
    status varchar not null check (status in ('done', 'failed', 'not_applicable')),
    tokens_before bigint not null check (tokens_before >= 0),
    tokens_after bigint check (tokens_after >= 0),
    seconds double check (seconds >= 0),
    cost_usd double check (cost_usd >= 0),
    error varchar,
    n_kept bigint check (n_kept >= 0),
    n_edited bigint check (n_edited >= 0),
    n_covered bigint check (n_covered >= 0),
    n_dropped bigint check (n_dropped >= 0),
    grew boolean,
    invalid_context boolean,
    flags varchar[],
    kept integer[],
    edited integer[],
    covered integer[],
    dropped integer[],
    made struct("position" integer, "role" varchar, tokens bigint, covers integer[])[],
    before_by_kind struct("system" bigint, "user" bigint, assistant bigint, tool bigint, made bigint),
    after_by_kind struct("system" bigint, "user" bigint, assistant bigint, tool bigint, made bigint),
    check (status <> 'done' or tokens_after is not null)
);

comment on table compactions is
'Histories compacted by a method at a point; one row per point × method × replicate';
comment on column compactions.compaction_id is 'Identity of the compaction';
comment on column compactions.point_id is 'Point at which it was made';
comment on column compactions.method_id is 'Method that made it';
comment on column compactions.replicate is 'Number of the repetition';
comment on column compactions.status is
'done; failed: the history stayed as it was; not_applicable: the method has nothing to say at this point, no failure';
comment on column compactions.tokens_before is 'Tokens of the history that the method was given, counted as sessions.n_tokens';
comment on column compactions.tokens_after is 'Tokens of the compacted context, counted likewise; NULL unless done';
comment on column compactions.seconds is 'Wall time in seconds, model calls included';
comment on column compactions.cost_usd is 'US dollars that its model calls cost; NULL where the price is not known';
comment on column compactions.error is 'Why it failed or is not applicable; NULL when done';
comment on column compactions.n_kept is 'Messages that stay as they were';
comment on column compactions.n_edited is 'Messages that stay with another content';
comment on column compactions.n_covered is 'Messages that are gone and that a summary stands for';
comment on column compactions.n_dropped is 'Messages that are gone';
comment on column compactions.grew is 'Whether the context has more tokens than before';
comment on column compactions.invalid_context is
'Whether the context has a tool result without its call, which providers refuse';
comment on column compactions.flags is
'What is to be known of the context: grew, invalid_context, and what the method itself noted';
comment on column compactions.kept is 'Positions (seq) in the session of the messages that stay as they were';
comment on column compactions.edited is 'Positions of the messages that stay with another content';
comment on column compactions.covered is 'Positions of the messages that are gone and that a made message stands for';
comment on column compactions.dropped is 'Positions of the messages that are gone';
comment on column compactions.made is
'Messages that the method made: position in the context, role, tokens, and the positions in the session that it covers';
comment on column compactions.before_by_kind is
'Tokens before, by role; made: messages that the method made at an earlier point of a chain';
comment on column compactions.after_by_kind is 'Tokens after, by role; made: messages that the method made';
