-- Figures of every night that changed something; one row per night × judge × method × dimension (and overall).
create table night_figures (
    night integer not null check (night >= 1),  -- Number of the night: 1 for the first one of the study, then 2, 3 …
    taken_at timestamp not null,
    run_id varchar not null,  -- That run
    engine varchar not null,
    judge_id varchar not null,
    judge varchar not null,
    method_id varchar not null,  -- Identity of the method then; another one when its version has changed
    method varchar not null,  -- Name of the method, by which nights are compared
    dimension varchar not null,
    mean double not null,  -- Mean over answers, 0 to 5, as in leaderboard_long
    std_error double,  -- Its standard error, clustered; NULL with a single cluster
    n_answers bigint not null check (n_answers > 0),  -- Answers that the mean is over
    n_sessions bigint not null check (n_sessions > 0),  -- Sessions that these answers are of
    rank bigint,  -- Rank on the leaderboard; NULL for single dimensions and where there was none
    is_open boolean  -- Whether answers that had scores before had none that night (provider down, budget spent); NULL
    -- in older nights
);
