-- Questions about the history before a point, the same for every method; one row per point × probe type × prober.
create table probes (
    probe_id varchar not null,  -- Identity of the question
    point_id varchar not null,  -- Point whose history it asks about
    probe_type varchar not null check (probe_type in ('recall', 'artifact', 'continuation', 'decision', 'constraint')),
    question varchar not null,  -- The question as the responder sees it
    ground_truth varchar not null,  -- The true answer
    evidence varchar not null check (json_valid(evidence)),  -- Messages that prove the true answer: JSON list of {seq,
    -- quote}
    statements varchar not null check (json_valid(statements)),  -- Single statements that a right answer makes: JSON
    -- list of {kind, text, evidence, quotes, exact, details, foils, …}
    max_tokens integer not null check (max_tokens >= 0),  -- Tokens that the answer may have
    prober varchar not null  -- What made the question: embedded or the spec of a model
);
