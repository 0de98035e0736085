-- What the responder said, given the compacted context and the question; one row per compaction × probe × replicate.
create table answers (
    answer_id varchar not null,  -- Identity of the answer
    compaction_id varchar not null,  -- Compaction whose context the responder saw
    session_id varchar not null,  -- Session of the compaction; naming it spares reading those of all others
    probe_id varchar not null,  -- Question that it was asked
    replicate integer not null check (replicate >= 0),  -- Number of the repetition
    text varchar,  -- The answer; NULL when failed
    status varchar not null check (status in ('done', 'failed')),  -- done, or failed: there is nothing to score
    cost_usd double check (cost_usd >= 0),  -- US dollars that were paid for the call; NULL where the price is not known
    saved_usd double check (saved_usd >= 0),  -- US dollars that the call would have cost, had the call cache not had
    -- the answer
    error varchar,  -- Why it failed; NULL when done
    n_tokens bigint check (n_tokens >= 0),  -- Tokens of the answer
    fetched_tokens bigint check (fetched_tokens >= 0),  -- Tokens of the messages that the method put into the context
    -- for this question (retrieval), or that were fetched for it (recover); 0 where none were
    fetches varchar[],  -- Requests by which dropped messages were fetched for it (methods recover), in order, as JSON:
    -- {"search": words} or {"messages": numbers}; empty without one, NULL where the method fetches by itself or not
    seconds double check (seconds >= 0),  -- Wall time in seconds
    responder varchar not null,
    answered_at timestamp  -- When, in UTC; NULL for answers of stores that did not note it
);
