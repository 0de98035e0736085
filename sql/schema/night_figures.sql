-- One row per night × judge × method × dimension (and 'overall'): the leaderboard as it was then.
create table night_figures (
    night integer not null check (night >= 1),
    taken_at timestamp not null,
    run_id varchar not null,
    engine varchar not null,
    judge_id varchar not null,
    judge varchar not null,
    method_id varchar not null,
    method varchar not null,
    dimension varchar not null,
    mean double not null,
    std_error double,
    n_answers bigint not null check (n_answers > 0),
    n_sessions bigint not null check (n_sessions > 0),
    rank bigint,
    is_open boolean
);

comment on table night_figures is
'Figures of every night that changed something; one row per night × judge × method × dimension (and overall)';
comment on column night_figures.night is 'Number of the night: 1 for the first one of the study, then 2, 3 …';
comment on column night_figures.taken_at is 'When the run ended that took it, in UTC';
comment on column night_figures.run_id is 'That run';
comment on column night_figures.engine is 'What asked and answered then, with its version';
comment on column night_figures.judge_id is 'Judge version';
comment on column night_figures.judge is 'embedded (no language model) or the spec of a model';
comment on column night_figures.method_id is 'Identity of the method then; another one when its version has changed';
comment on column night_figures.method is 'Name of the method, by which nights are compared';
comment on column night_figures.dimension is 'Dimension of the rubric, or overall';
comment on column night_figures.mean is 'Mean over answers, 0 to 5, as in leaderboard_long';
comment on column night_figures.std_error is 'Its standard error, clustered by session; NULL with a single session';
comment on column night_figures.n_answers is 'Answers that the mean is over';
comment on column night_figures.n_sessions is 'Sessions that these answers are of';
comment on column night_figures.rank is 'Rank on the leaderboard; NULL for single dimensions and where there was none';
comment on column night_figures.is_open is
'Whether answers that had scores before had none that night (provider down, budget spent); NULL in older nights';
