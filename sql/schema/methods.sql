-- One row per strategy with parameters.
create table methods (
    method_id varchar not null,
    method varchar not null,
    strategy varchar not null,
    params varchar not null check (json_valid(params)),
    peer varchar not null,
    peer_version varchar,
    mode varchar not null,
    needs_model boolean not null,
    history varchar not null check (history in ('prefix', 'chain')),
    summarizer varchar,
    version varchar not null,
    code_sha256 varchar,
    is_current boolean not null
);

comment on table methods is
'Compaction methods that were run; one row per strategy with parameters';
comment on column methods.method_id is 'Identity of the method with everything that its compactions depend on';
comment on column methods.method is
'Name on the leaderboard: the strategy, with the parameters that differ from the defaults';
comment on column methods.strategy is 'Id of the strategy, as in `list strategies`';
comment on column methods.params is 'All parameters, defaults filled in, as JSON text';
comment on column methods.peer is 'System whose behaviour the strategy has; own for the project''s own';
comment on column methods.peer_version is 'Version of that system';
comment on column methods.mode is
'faithful: as the original does it, even where a provider would refuse the result; valid: always acceptable';
comment on column methods.needs_model is 'Whether the strategy calls a summariser';
comment on column methods.history is
'prefix: compacts the whole session up to the point; chain: what it left at the last point and what came since';
comment on column methods.summarizer is 'Model that summarises; NULL where the strategy needs none';
comment on column methods.version is
'Version of the strategy and of those inside it; of methods that differ in nothing else the last run''s is shown';
comment on column methods.code_sha256 is 'SHA-256 of the source that ran last, for the record; NULL where not known';
comment on column methods.is_current is
'Whether the newest run of the study asks for it; an earlier version or a method that was dropped keeps its results';
