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
    saved_usd double check (saved_usd >= 0),
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
    same_context_as varchar,
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
comment on column compactions.tokens_before is
'Tokens of the history that it was given, counted as sessions.n_tokens; in a chain what it left and what came since';
comment on column compactions.tokens_after is 'Tokens of the compacted context, counted likewise; NULL unless done';
comment on column compactions.seconds is 'Wall time in seconds, model calls included';
comment on column compactions.cost_usd is
'US dollars that were paid for its model calls; NULL where the price is not known';
comment on column compactions.saved_usd is
'US dollars that its model calls would have cost besides, had the call cache not had their answers';
comment on column compactions.error is 'Why it failed or is not applicable; NULL when done';
comment on column compactions.n_kept is
'Messages of the session before the point that stay as they were said; the four counts add up to all of them';
comment on column compactions.n_edited is 'Messages that stay with another content than they were said with';
comment on column compactions.n_covered is
'Messages that are gone and that a summary stands for, those of earlier points of a chain with them';
comment on column compactions.n_dropped is 'Messages that are gone, those of earlier points of a chain with them';
comment on column compactions.grew is 'Whether the context has more tokens than before';
comment on column compactions.invalid_context is
'Whether the context has a tool result without its call or a call without its result, which providers refuse';
comment on column compactions.flags is
'What is to be known of it: grew, invalid_context, over_budget (more tokens than its parameters allow), and its notes';
comment on column compactions.kept is 'Positions (seq) in the session of the messages that stay as they were';
comment on column compactions.edited is 'Positions of the messages that stay with another content';
comment on column compactions.covered is 'Positions of the messages that are gone and that a made message stands for';
comment on column compactions.dropped is 'Positions of the messages that are gone, at this point or an earlier one';
comment on column compactions.made is
'Messages that the method made: position in the context, role, tokens, and the positions in the session that it covers';
comment on column compactions.before_by_kind is
'Tokens before, by role; made: messages that the method made at an earlier point of a chain';
comment on column compactions.after_by_kind is 'Tokens after, by role; made: messages that the method made';
comment on column compactions.same_context_as is
'First repetition of the method at the point that left an equal context: its answers are these answers, too; else NULL';
