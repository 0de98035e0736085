-- The tool call that a model says comes next at a compaction point; one row per point × context that it was asked from,
-- the whole history being two.
create table next_actions (
    next_action_id varchar not null,  -- Identity of the answer
    session_id varchar not null,
    point_id varchar not null,  -- Compaction point
    compaction_id varchar,  -- Compaction that left the context; NULL for the whole history
    method_id varchar,  -- Method of the compaction; NULL for the whole history
    repetition integer not null check (repetition between 0 and 2),  -- 1 and 2: the whole history, 0: a context
    status varchar not null check (status in ('done', 'not_asked', 'failed')),  -- done; not_asked: no tool was called
    -- before the point; failed: the model gave no answer
    error varchar,  -- Why it is not done; NULL when done
    tool varchar,  -- Tool that is called, or none: words to the user; NULL unless done
    kind varchar check (kind in ('look', 'change', 'run', 'use')),  -- look: files are shown or searched; change: files
    -- are written, moved or deleted; run: a program runs; use: another tool. NULL without a call
    target varchar,  -- Files that it is about, relative to the project, or the words that a search looks for
    program varchar,  -- Program of the command that decides; empty where the tool is no shell
    with_full varchar check (with_full in ('same', 'equivalent', 'different')),  -- Beside the first answer from the
    -- whole history; NULL for that answer itself
    with_full_again varchar check (with_full_again in ('same', 'equivalent', 'different')),  -- Beside the second one;
    -- NULL for both answers from the whole history
    with_session varchar check (with_session in ('same', 'equivalent', 'different')),  -- Beside what the session did
    -- next; NULL where a person spoke first or nothing followed
    reason varchar,  -- Why it is different whatever it is beside; NULL where the comparison says
    arguments varchar,  -- Arguments of the call, as JSON text
    responder varchar not null,  -- Model that was asked
    cost_usd double check (cost_usd >= 0),  -- US dollars of the call, also where the call cache had it; NULL where the
    -- price is not known
    seconds double check (seconds >= 0)  -- Wall time in seconds
);
