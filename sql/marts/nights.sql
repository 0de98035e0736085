-- One row per night × judge × method: the trend of overall.
--
-- A night that changed nothing has no row: the one before it still holds.
create view nights as
select
    night,  -- Number of the night: 1 for the first one of the study, then 2, 3 …
    taken_at,
    judge_id,
    judge,
    method,
    mean as overall,  -- Mean over answers of the per-answer overall, 0 to 5
    mean - lag(mean) over of_method as change,  -- overall less that of the judge's night before; NULL on the first one
    std_error,  -- Standard error of overall, clustered; NULL with a single cluster
    rank,  -- Rank on the leaderboard of that night
    n_answers,  -- Answers with a score
    n_sessions,  -- Sessions that these answers are of
    method_id,  -- Identity of the method then
    method_id <> lag(method_id, 1, method_id) over of_method as is_new_code,  -- Whether the method has another version
    -- or other parameters than the night before
    engine,
    run_id  -- Run that took it
from night_figures
where dimension = 'overall'
window of_method as (partition by judge_id, method order by night)
order by night, judge, judge_id, rank nulls last, method;
