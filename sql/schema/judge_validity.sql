-- Whether a judge sees that a true answer was altered; one row per judge version × alteration.
create table judge_validity (
    judge_id varchar not null,
    judge varchar not null,
    alteration varchar not null,  -- Name of the alteration
    about varchar not null,  -- What was done to the true answers
    n bigint not null check (n >= 0),  -- Altered answers that were scored
    n_unscored bigint not null check (n_unscored >= 0),  -- Altered answers without a score
    mean double check (mean between 0 and 5),  -- Mean over sessions of the scores, 0–5, without instruction following;
    -- NULL where nothing could be altered so
    ci_low double,  -- Lower end of the 95 % interval over sessions; NULL with one session
    ci_high double,  -- Upper end of the 95 % interval over sessions; NULL with one session
    effect double,  -- Of a bias: points by which the form alone moves the score, paired; NULL of others
    effect_low double,  -- Lower end of its 95 % interval over sessions
    effect_high double,  -- Upper end of its 95 % interval over sessions
    required_low double not null,  -- Least mean that is right; of a bias, the least effect
    required_high double not null,  -- Greatest mean that is right; of a bias, the greatest effect
    passes boolean,  -- Whether it is within what is required; NULL without a mean, and of a bias while its interval
    -- can be both
    measured_at timestamp not null,  -- When it was measured, in UTC
    check (mean is not null or passes is null)
);
