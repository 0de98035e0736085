-- One row per night × judge × method: the trend of overall.
--
-- A night that changed nothing has no row: the one before it still holds.
create view nights as
select
    night,
    taken_at,
    judge_id,
    judge,
    method,
    mean as overall,
    mean - lag(mean) over of_method as change,
    std_error,
    rank,
    n_answers,
    n_sessions,
    method_id,
    method_id <> lag(method_id, 1, method_id) over of_method as is_new_code,
    engine,
    run_id
from night_figures
where dimension = 'overall'
window of_method as (partition by judge_id, method order by night)
order by night, judge, judge_id, rank nulls last, method;

comment on column nights.night is 'Number of the night: 1 for the first one of the study, then 2, 3 …';
comment on column nights.taken_at is 'When the run ended that took it, in UTC';
comment on column nights.judge_id is 'Judge version';
comment on column nights.judge is 'embedded (no language model) or the spec of a model';
comment on column nights.method is 'Name of the method';
comment on column nights.overall is 'Mean over answers of the per-answer overall, 0 to 5';
comment on column nights.change is 'overall less that of the judge''s night before; NULL on the first one';
comment on column nights.std_error is 'Standard error of overall, clustered by session; NULL with a single session';
comment on column nights.rank is 'Rank on the leaderboard of that night';
comment on column nights.n_answers is 'Answers with a score';
comment on column nights.n_sessions is 'Sessions that these answers are of';
comment on column nights.method_id is 'Identity of the method then';
comment on column nights.is_new_code is
'Whether the method has another version or other parameters than the night before';
comment on column nights.engine is 'What asked and answered then, with its version';
comment on column nights.run_id is 'Run that took it';
