-- Histories compacted by a method at a point; one row per point × method × replicate.
create table compactions (
    compaction_id varchar not null,  -- Identity of the compaction
    point_id varchar not null,  -- Point at which it was made
    method_id varchar not null,  -- Method that made it
    replicate integer not null check (replicate >= 0),  -- Number of the repetition
    status varchar not null check (status in ('done', 'failed', 'not_applicable')),  -- done; failed: the history stayed
    -- as it was; not_applicable: the method has nothing to say at this point, no failure
    tokens_before bigint not null check (tokens_before >= 0),  -- Tokens of the history that it was given, counted as
    -- sessions.n_tokens; in a chain what it left and what came since
    tokens_after bigint check (tokens_after >= 0),  -- Tokens of the compacted context, counted likewise; NULL unless
    -- done
    seconds double check (seconds >= 0),  -- Wall time in seconds, model calls included
    cost_usd double check (cost_usd >= 0),  -- US dollars that were paid for its model calls; NULL where the price is
    -- not known
    saved_usd double check (saved_usd >= 0),  -- US dollars that its model calls would have cost besides, had the call
    -- cache not had their answers
    error varchar,  -- Why it failed or is not applicable; NULL when done
    n_kept bigint check (n_kept >= 0),  -- Messages of the session before the point that stay as they were said; the
    -- four counts add up to all of them
    n_edited bigint check (n_edited >= 0),  -- Messages that stay with another content than they were said with
    n_covered bigint check (n_covered >= 0),  -- Messages that are gone and that a summary stands for, those of earlier
    -- points of a chain with them
    n_dropped bigint check (n_dropped >= 0),  -- Messages that are gone, those of earlier points of a chain with them
    grew boolean,  -- Whether the context has more tokens than before
    invalid_context boolean,  -- Whether the context has a tool result without its call or a call without its result,
    -- which providers refuse
    flags varchar[],  -- What is to be known of it: grew, invalid_context, over_budget (more tokens than its parameters
    -- allow), and its notes
    kept integer[],  -- Positions (seq) in the session of the messages that stay as they were
    edited integer[],  -- Positions of the messages that stay with another content
    covered integer[],  -- Positions of the messages that are gone and that a made message stands for
    dropped integer[],  -- Positions of the messages that are gone, at this point or an earlier one
    made struct("position" integer, "role" varchar, tokens bigint, covers integer[])[],  -- Messages that the method
    -- made: position in the context, role, tokens, and the positions in the session that it covers
    before_by_kind struct("system" bigint, "user" bigint, assistant bigint, tool bigint, made bigint),  -- Tokens
    -- before, by role; made: messages that the method made at an earlier point of a chain
    same_context_as varchar,  -- First repetition of the method at the point that left an equal context: its answers are
    -- these answers, too; else NULL
    after_by_kind struct("system" bigint, "user" bigint, assistant bigint, tool bigint, made bigint),  -- Tokens after,
    -- by role; made: messages that the method made
    check (status <> 'done' or tokens_after is not null)
);
