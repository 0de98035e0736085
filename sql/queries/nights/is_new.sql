-- Whether anything is not as at the night before: sums, methods, judges, or what asked and answered.
--
-- It reads the database, `night_methods`, `night_changes` and the variable engine.
with last_night as (
    select max(night) as night from night_figures
),

before as (
    select distinct
        night_figures.judge_id,
        night_figures.method,
        night_figures.method_id,
        night_figures.engine
    from night_figures
    inner join last_night on night_figures.night = last_night.night
),

now as (
    select distinct
        agg_session_scores.judge_id,
        night_methods.method,
        agg_session_scores.method_id,
        getvariable('engine') as engine
    from agg_session_scores
    inner join night_methods on agg_session_scores.method_id = night_methods.method_id
),

apart as (
    (
        select * from now
        except
        select * from before
    )
    union all
    (
        select * from before
        except
        select * from now
    )
)

select (select count(*) from night_changes) + (select count(*) from apart) > 0 as is_new
