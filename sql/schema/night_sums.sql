-- One row per night × judge × method × dimension × session that was not as on the night before.
create table night_sums (
    night integer not null check (night >= 1),
    judge_id varchar not null,
    method varchar not null,
    dimension varchar not null,
    session_id varchar not null,
    content_sha256 varchar not null,
    score_sum double not null,
    n_answers bigint not null check (n_answers >= 0)
);

comment on table night_sums is
'Sums that changed in a night; one row per night × judge × method × dimension × session that changed';
comment on column night_sums.night is 'Number of the night, as in night_figures';
comment on column night_sums.judge_id is 'Judge version';
comment on column night_sums.method is 'Name of the method';
comment on column night_sums.dimension is 'Dimension of the rubric, or overall';
comment on column night_sums.session_id is 'Session';
comment on column night_sums.content_sha256 is 'SHA-256 of the session as it was then';
comment on column night_sums.score_sum is 'Sum of the answers'' scores from this night on, until the key''s next row';
comment on column night_sums.n_answers is 'Answers with a score; 0: none any more';
