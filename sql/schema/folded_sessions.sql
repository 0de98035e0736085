-- Sessions that stand in the sources more than once (grown, resumed, forked, another encoding): one row per copy that
-- is not stored, because a longer one is.
create table folded_sessions (
    recorded_id varchar not null,  -- Identity that the copy has in its log
    input_path varchar not null,  -- Absolute path of the input that holds the copy
    source_format varchar not null,  -- Log format of the copy
    folded_into varchar not null,  -- Session that is stored in its place
    n_messages bigint not null check (n_messages >= 0),  -- Messages of the copy
    n_apart bigint not null check (n_apart >= 0)  -- Assistant messages of the copy that the stored session does not
    -- have, as far as can be told: the end of a fork
);
