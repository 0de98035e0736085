-- One row per judge × current method (but none) × size at which `--points sizes:N,…` compacts: does one compaction lose
-- more the more there is to compact?
--
-- What is asked at a later point differs from what is asked at an earlier one, so scores of two sizes are not compared
-- as they are. Within a session and size the reference is the whole history (`none`) on the same questions:
-- against_none is method - none. change is against_none at the size less against_none at the smallest size, in the
-- sessions that have both. Every session weighs alike, by the mean over its questions, so its test is the paired t-test
-- over sessions.
--
-- says has the words of `against_baseline`, corrected over the sizes of a method: better than at the smallest, worse, a
-- little worse (by less than 0.2), as good, not worse, cannot tell.
--
-- It says what one compaction loses by the size of the history. A session that compacts at a smaller size does so more
-- often, and what that adds up to is not in here.
create view compaction_sizes as
with sized as (
    select
        point_id,
        list_max(
            list_filter(
                cast(regexp_extract_all(points_spec, '\d+') as bigint[]),
                lambda size: size <= tokens_before
            )
        ) as size
    from points
    where starts_with(points_spec, 'sizes:')
),

scored as (
    select
        scores.judge_id,
        scores.method_id,
        scores.session_id,
        scores.probe_id,
        sized.size,
        any_value(stg_methods.strategy) as strategy,
        avg(scores.score) as score
    from int_answer_scores as scores
    inner join sized on scores.point_id = sized.point_id
    inner join stg_methods on scores.method_id = stg_methods.method_id
    where scores.dimension = 'overall' and stg_methods.is_current
    group by scores.judge_id, scores.method_id, scores.session_id, scores.probe_id, sized.size
),

bounds as (
    select
        judge_id,
        probe_id,
        avg(score) filter (where strategy = 'none') as whole,
        avg(score) filter (where strategy = 'empty') as nothing
    from scored
    where strategy in ('none', 'empty')
    group by judge_id, probe_id
),

in_session as (
    select
        scored.judge_id,
        scored.method_id,
        scored.size,
        scored.session_id,
        avg(scored.score) as score,
        avg(bounds.whole) as whole,
        avg(scored.score - bounds.whole) as against_none,
        avg(scored.score - bounds.nothing) as kept,
        avg(bounds.whole - bounds.nothing) as worth,
        count(*) as n_questions
    from scored
    left join bounds on scored.judge_id = bounds.judge_id and scored.probe_id = bounds.probe_id
    where scored.strategy <> 'none'
    group by scored.judge_id, scored.method_id, scored.size, scored.session_id
),

contexts_left as (
    select
        compactions.method_id,
        sized.size,
        avg(compactions.tokens_after) as tokens_after
    from compactions
    inner join sized on compactions.point_id = sized.point_id
    where compactions.status = 'done'
    group by compactions.method_id, sized.size
),

changes as (
    select
        own.judge_id,
        own.method_id,
        own.size,
        sum(own.against_none - least.against_none) as change,
        count(*) as n_sessions
    from in_session as own
    inner join in_session as least
        on
            own.judge_id = least.judge_id
            and own.method_id = least.method_id
            and own.session_id = least.session_id
            and own.size > least.size
            and own.against_none is not null
            and least.against_none is not null
            and least.size = (select min(sized.size) from sized)
    inner join stg_clusters on own.session_id = stg_clusters.session_id
    group by own.judge_id, own.method_id, own.size, stg_clusters.cluster
),

changed as (
    select
        judge_id,
        method_id,
        size,
        cluster_figures(list(change), list(n_sessions)) as change
    from changes
    group by judge_id, method_id, size
),

figures as (
    select
        own.judge_id,
        own.method_id,
        own.size,
        avg(own.score) as score,
        avg(own.whole) as whole,
        avg(own.against_none) as against_none,
        sum(own.kept) filter (where own.worth is not null) / nullif(sum(own.worth), 0) as retention,
        any_value(changed.change) as change,
        count(*) as n_sessions,
        cast(sum(own.n_questions) as bigint) as n_questions
    from in_session as own
    left join changed
        on own.judge_id = changed.judge_id and own.method_id = changed.method_id and own.size = changed.size
    group by own.judge_id, own.method_id, own.size
),

tested as (
    select
        *,
        (judge_id, method_id) as family,
        t_test_of(change) as p_value,
        t_test_above(change.mean + margin(), change.std_error, change.df) as p_not_worse,
        t_test_within(change.mean, change.std_error, change.df) as p_equivalent
    from figures
),

stepped as (
    select
        *,
        p_step(p_value, family) as step,
        p_step(p_not_worse, family) as step_not_worse,
        p_step(p_equivalent, family) as step_equivalent
    from tested
),

corrected as (
    select
        *,
        holm(p_value, step, family) as p_adjusted,
        holm(p_not_worse, step_not_worse, family) as p_not_worse_adjusted,
        holm(p_equivalent, step_equivalent, family) as p_equivalent_adjusted
    from stepped
)

select
    corrected.judge_id,
    judges.judge,
    stg_methods.method,
    corrected.size,  -- Tokens of the history at which the point lies; the greatest of the spec that it has reached
    contexts_left.tokens_after,  -- Mean tokens of the contexts that the method left at this size
    corrected.retention,  -- (method - empty) / (none - empty) at this size: 1 as the whole history, 0 as nothing; NULL
    -- without both controls
    corrected.score,  -- Mean overall at this size, 0 to 5
    corrected.whole,  -- The same of none on the same questions; NULL without none
    corrected.against_none,  -- Mean of method - none on the same questions; NULL without none
    corrected.change.mean as change,  -- against_none less that at the smallest size, in the sessions with both: below 0
    -- one compaction loses more here; NULL at the smallest size, and without none
    corrected.change.std_error,  -- Standard error of change; NULL with a single cluster
    ci_low(corrected.change) as ci_low,  -- Lower end of the 95 % interval of change, for this row alone
    ci_high(corrected.change) as ci_high,  -- Upper end of it
    corrected.p_value,  -- Two-sided p-value of no change, for this row alone
    corrected.p_adjusted,  -- The same after Holm's correction over the sizes of the method
    corrected.p_not_worse_adjusted,  -- p-value of losing 0.2 or more beyond the smallest size, corrected likewise
    corrected.p_equivalent_adjusted,  -- p-value of a change of 0.2 or more, either way, corrected likewise
    case
        when corrected.p_value is null then null
        when corrected.p_adjusted < 0.05 and corrected.change.mean > 0 then 'better'
        when corrected.p_adjusted < 0.05 and corrected.p_not_worse_adjusted < 0.05 then 'a little worse'
        when corrected.p_adjusted < 0.05 then 'worse'
        when corrected.p_equivalent_adjusted < 0.05 then 'as good'
        when corrected.p_not_worse_adjusted < 0.05 then 'not worse'
        else 'cannot tell'
    end as says,  -- What the change is shown to be; NULL where there is none to test
    coalesce(corrected.change.n, 0) as n_pairs,  -- Sessions with both sizes, which change is over
    corrected.n_sessions,  -- Sessions with an answer at this size
    corrected.n_questions,  -- Questions at this size that the method has a score for
    corrected.method_id,
    coalesce(corrected.change.n_clusters, 0) as n_clusters
from corrected
inner join stg_methods on corrected.method_id = stg_methods.method_id
left join contexts_left on corrected.method_id = contexts_left.method_id and corrected.size = contexts_left.size
left join judges on corrected.judge_id = judges.judge_id
order by judges.judge, corrected.judge_id, stg_methods.method, corrected.size;
