-- One row per judge version × alteration of true answers, for judges that were tried (`audit validity`).
create table judge_validity (
    judge_id varchar not null,
    judge varchar not null,
    alteration varchar not null,
    about varchar not null,
    n bigint not null check (n >= 0),
    n_unscored bigint not null check (n_unscored >= 0),
    mean double check (mean between 0 and 5),
    ci_low double,
    ci_high double,
    required_low double not null,
    required_high double not null,
    passes boolean,
    measured_at timestamp not null,
    check ((mean is null) = (passes is null))
);

comment on table judge_validity is
'Whether a judge sees that a true answer was altered; one row per judge version × alteration';
comment on column judge_validity.judge_id is 'Judge version';
comment on column judge_validity.judge is 'embedded (no language model) or the spec of a model';
comment on column judge_validity.alteration is 'Name of the alteration';
comment on column judge_validity.about is 'What was done to the true answers';
comment on column judge_validity.n is 'Altered answers that were scored';
comment on column judge_validity.n_unscored is 'Altered answers without a score';
comment on column judge_validity.mean is
'Mean over sessions of the scores, 0–5, without instruction following; NULL where nothing could be altered so';
comment on column judge_validity.ci_low is 'Lower end of the 95 % interval over sessions; NULL with one session';
comment on column judge_validity.ci_high is 'Upper end of the 95 % interval over sessions; NULL with one session';
comment on column judge_validity.required_low is 'Least mean that is right';
comment on column judge_validity.required_high is 'Greatest mean that is right';
comment on column judge_validity.passes is 'Whether the mean is within what is required; NULL without a mean';
comment on column judge_validity.measured_at is 'When it was measured, in UTC';
