-- Credentials that were masked before anything was stored; one row per input × kind, never the values.
create table masked_secrets (
    input_path varchar not null,
    kind varchar not null,  -- Kind of secret, as in its mark
    n_masked bigint not null check (n_masked > 0)  -- Places that were masked
);
