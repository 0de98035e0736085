-- One row per judge × method × dimension (and 'overall') × session that one of two nights has answers of.
--
-- The last night is compared with the one before it, or with the last one up to the number in the variable
-- `moved_since` (set variable moved_since = 12). Judges are matched by version; a version that is new is set against
-- the one of its name that had judged most then. Methods are matched by name, whatever their code.
create view agg_moved_sessions as
with last_night as (
    select max(night) as night
    from night_figures
),

compared as (
    select
        last_night.night as night_now,
        max(night_figures.night) as night_then
    from last_night
    inner join night_figures
        on
            last_night.night > night_figures.night
            and night_figures.night <= coalesce(cast(getvariable('moved_since') as integer), last_night.night)
    group by last_night.night
),

judged as (
    select
        night_figures.judge_id,
        night_figures.judge,
        night_figures.night = compared.night_now as is_now,
        sum(night_figures.n_answers) as n_answers
    from night_figures
    inner join compared on night_figures.night in (compared.night_now, compared.night_then)
    group by night_figures.judge_id, night_figures.judge, is_now
),

judge_pairs as (
    select
        now.judge_id,
        now.judge,
        coalesce(
            max(earlier.judge_id) filter (where earlier.judge_id = now.judge_id),
            arg_max(earlier.judge_id, (earlier.n_answers, earlier.judge_id))
        ) as judge_id_then
    from judged as now
    inner join judged as earlier on now.judge = earlier.judge and not earlier.is_now
    where now.is_now
    group by now.judge_id, now.judge
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
    inner join compared on night_sums.night <= compared.night_now
    group by night_sums.judge_id, night_sums.method, night_sums.dimension, night_sums.session_id
),

state_then as (
    select
        judge_pairs.judge_id,
        night_sums.method,
        night_sums.dimension,
        night_sums.session_id,
        arg_max(night_sums.content_sha256, night_sums.night) as content_sha256,
        arg_max(night_sums.score_sum, night_sums.night) as score_sum,
        arg_max(night_sums.n_answers, night_sums.night) as n_answers
    from night_sums
    inner join compared on night_sums.night <= compared.night_then
    inner join judge_pairs on night_sums.judge_id = judge_pairs.judge_id_then
    group by judge_pairs.judge_id, night_sums.method, night_sums.dimension, night_sums.session_id
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
    full join state_then
        on
            state_now.judge_id = state_then.judge_id
            and state_now.method = state_then.method
            and state_now.dimension = state_then.dimension
            and state_now.session_id = state_then.session_id
)

select
    both_states.judge_id,
    judge_pairs.judge,
    judge_pairs.judge_id_then,
    both_states.method,
    both_states.dimension,
    both_states.session_id,
    both_states.score_sum_then,
    both_states.score_sum,
    both_states.n_answers_then,
    both_states.n_answers,
    case
        when both_states.n_answers_then = 0 then 'new'
        when both_states.n_answers = 0 then 'gone'
        when both_states.is_same_text then 'same'
        else 'changed'
    end as session_is,
    compared.night_then,
    compared.night_now
from both_states
inner join judge_pairs on both_states.judge_id = judge_pairs.judge_id
cross join compared
where both_states.n_answers > 0 or both_states.n_answers_then > 0;

comment on column agg_moved_sessions.judge_id is 'Judge version now';
comment on column agg_moved_sessions.judge is 'embedded (no language model) or the spec of a model';
comment on column agg_moved_sessions.judge_id_then is 'Judge version that it is set against';
comment on column agg_moved_sessions.method is 'Name of the method';
comment on column agg_moved_sessions.dimension is 'Dimension of the rubric, or overall';
comment on column agg_moved_sessions.session_id is 'Session';
comment on column agg_moved_sessions.score_sum_then is 'Sum of the answers'' scores then; 0 without an answer';
comment on column agg_moved_sessions.score_sum is 'Sum of the answers'' scores now; 0 without an answer';
comment on column agg_moved_sessions.n_answers_then is 'Answers with a score then';
comment on column agg_moved_sessions.n_answers is 'Answers with a score now';
comment on column agg_moved_sessions.session_is is
'same: the same text both times; changed: it grew or was read anew; new or gone: scored at one of the two only';
comment on column agg_moved_sessions.night_then is 'Number of the night that is compared with';
comment on column agg_moved_sessions.night_now is 'Number of the last night';
