-- Everything that a judge's scores depend on; a changed judge is another row; one row per judge version.
create table judges (
    judge_id varchar not null,  -- Hash of the row's other columns but created_at
    judge varchar not null,
    model varchar not null,  -- Model that scores, or the embedded judge's or a panel's name and version
    rubric varchar not null,
    prompt_sha256 varchar not null,  -- SHA-256 of the prompt; of the embedded judge, which has none, of its name and
    -- version; of a panel of those of its members
    protocol varchar not null,  -- study: the compacted context is shown; closed: question, answer and truth only; else
    -- what the embedded judge reads
    params varchar not null check (json_valid(params)),  -- Parameters of the judge as JSON text; of a panel its
    -- rule and the ids of its members
    created_at timestamp not null  -- When this version was first used, in UTC
);
