-- One row per judge × method × dimension (and 'overall') × session that one of two nights has answers of.
--
-- The last night is compared with an earlier one, which each judge × method has for itself: the last in which it had
-- figures and was whole (not is_open), so that what was not scored for a night or more is not lost. Two variables move
-- it further back: `moved_since` (set variable moved_since = 12), a night after which none is taken, and `moved_told`,
-- a list of {judge_id, method, night}, the nights that were told last; what is in it is compared with that night.
-- Judges are matched by version; where a version is new to a method, it is set against the one of its name that had
-- judged most of it in the last night before. Methods are matched by name, whatever their code.
create view agg_moved_sessions as
with last_night as (
    select max(night) as night
    from night_figures
),

judged as (
    select
        night_figures.night,
        night_figures.judge_id,
        night_figures.judge,
        night_figures.method,
        sum(night_figures.n_answers) as n_answers,
        coalesce(bool_or(night_figures.is_open), false) as is_open
    from night_figures
    group by night_figures.night, night_figures.judge_id, night_figures.judge, night_figures.method
),

told as (
    select
        unnest(
            cast(getvariable('moved_told') as struct(judge_id varchar, method varchar, night integer)[]),
            recursive := true
        )
),

earlier as (
    select
        judged.*,
        told.night as told_night
    from judged
    inner join last_night on judged.night < last_night.night
    left join told on judged.judge_id = told.judge_id and judged.method = told.method
    where
        judged.night <= coalesce(cast(getvariable('moved_since') as integer), last_night.night)
        and (told.night is null or judged.night <= told.night)
),

-- For each judge × method of the last night what it is set against: one judge version in one night.
compared as (
    select
        now.judge_id,
        now.judge,
        now.method,
        now.night as night_now,
        arg_max(
            { 'judge_id': earlier.judge_id, 'night': earlier.night },
            (
                earlier.judge_id = now.judge_id,
                coalesce(earlier.night = earlier.told_night, false),
                not earlier.is_open,
                earlier.night,
                earlier.n_answers,
                earlier.judge_id
            )
        ) as against
    from judged as now
    inner join last_night on now.night = last_night.night
    inner join earlier on now.judge = earlier.judge and now.method = earlier.method
    group by now.judge_id, now.judge, now.method, now.night
),

state_now as (
    select
        night_sums.judge_id,
        night_sums.method,
        night_sums.dimension,
        night_sums.session_id,
        arg_max(night_sums.content_sha256, night_sums.night) as content_sha256,
        arg_max(night_sums.score_sum, night_sums.night) as score_sum,
        arg_max(night_sums.n_answers, night_sums.night) as n_answers
    from night_sums
    inner join compared on night_sums.judge_id = compared.judge_id and night_sums.method = compared.method
    group by night_sums.judge_id, night_sums.method, night_sums.dimension, night_sums.session_id
),

state_then as (
    select
        compared.judge_id,
        night_sums.method,
        night_sums.dimension,
        night_sums.session_id,
        arg_max(night_sums.content_sha256, night_sums.night) as content_sha256,
        arg_max(night_sums.score_sum, night_sums.night) as score_sum,
        arg_max(night_sums.n_answers, night_sums.night) as n_answers
    from night_sums
    inner join compared
        on
            night_sums.judge_id = compared.against.judge_id
            and night_sums.method = compared.method
            and night_sums.night <= compared.against.night
    group by compared.judge_id, night_sums.method, night_sums.dimension, night_sums.session_id
),

both_states as (
    select
        coalesce(state_now.judge_id, state_then.judge_id) as judge_id,
        coalesce(state_now.method, state_then.method) as method,
        coalesce(state_now.dimension, state_then.dimension) as dimension,
        coalesce(state_now.session_id, state_then.session_id) as session_id,
        coalesce(state_then.score_sum, 0) as score_sum_then,
        coalesce(state_now.score_sum, 0) as score_sum,
        coalesce(state_then.n_answers, 0) as n_answers_then,
        coalesce(state_now.n_answers, 0) as n_answers,
        state_now.content_sha256 = state_then.content_sha256 as is_same_text
    from state_now
    full join state_then using (judge_id, method, dimension, session_id)
)

select
    both_states.judge_id,  -- Judge version now
    compared.judge,
    compared.against.judge_id as judge_id_then,  -- Judge version that it is set against
    both_states.method,
    both_states.dimension,
    both_states.session_id,
    both_states.score_sum_then,  -- Sum of the answers' scores then; 0 without an answer
    both_states.score_sum,  -- Sum of the answers' scores now; 0 without an answer
    both_states.n_answers_then,
    both_states.n_answers,  -- Answers with a score now
    case
        when both_states.n_answers_then = 0 then 'new'
        when both_states.n_answers = 0 then 'gone'
        when both_states.is_same_text then 'same'
        else 'changed'
    end as session_is,  -- same: the same text both times; changed: it grew or was read anew; new or gone: scored at one
    -- of the two only
    compared.against.night as night_then,  -- Number of the night that this judge's figures of the method are compared
    -- with
    compared.night_now
from both_states
inner join compared on both_states.judge_id = compared.judge_id and both_states.method = compared.method
where both_states.n_answers > 0 or both_states.n_answers_then > 0;
