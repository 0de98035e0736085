-- Compaction methods that were run; one row per strategy with parameters.
create table methods (
    method_id varchar not null,  -- Identity of the method with everything that its compactions depend on
    method varchar not null,  -- Name on the leaderboard: the strategy, with the parameters that differ from the
    -- defaults
    strategy varchar not null,  -- Id of the strategy, as in `list strategies`
    params varchar not null check (json_valid(params)),  -- All parameters, defaults filled in, as JSON text
    peer varchar not null,
    peer_version varchar,
    mode varchar not null,  -- faithful: as the original does it, even where a provider would refuse the result; valid:
    -- always acceptable
    needs_model boolean not null,
    history varchar not null check (history in ('prefix', 'chain')),  -- prefix: compacts the whole session up to the
    -- point; chain: what it left at the last point and what came since
    over_id varchar,  -- Method that it adds something to, as recover(over=…) does; NULL for others
    summarizer varchar,  -- Model that summarises; NULL where the strategy needs none
    version varchar not null,  -- Version of the strategy and of those inside it; of methods that differ in nothing else
    -- the last run's is shown
    code_sha256 varchar,  -- SHA-256 of the source that ran last, for the record; NULL where not known
    is_current boolean not null  -- Whether the newest run of the study asks for it; an earlier version or a method that
    -- was dropped keeps its results
);
