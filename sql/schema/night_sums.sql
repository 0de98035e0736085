-- Sums that changed in a night; one row per night × judge × method × dimension × session that changed.
create table night_sums (
    night integer not null check (night >= 1),  -- Number of the night, as in night_figures
    judge_id varchar not null,
    method varchar not null,
    dimension varchar not null,
    session_id varchar not null,
    content_sha256 varchar not null,  -- SHA-256 of the session as it was then
    score_sum double not null,  -- Sum of the answers' scores from this night on, until the key's next row
    n_answers bigint not null check (n_answers >= 0)  -- Answers with a score; 0: none any more
);
