-- One row per input × kind of secret: how many were masked.
create table masked_secrets (
    input_path varchar not null,
    kind varchar not null,
    n_masked bigint not null check (n_masked > 0)
);

comment on table masked_secrets is
'Credentials that were masked before anything was stored; one row per input × kind, never the values';
comment on column masked_secrets.input_path is 'Absolute path of the input';
comment on column masked_secrets.kind is 'Kind of secret, as in its mark';
comment on column masked_secrets.n_masked is 'Places that were masked';
