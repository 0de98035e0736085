-- One row per judge × dimension (and 'overall') × what could be had more of: sessions, or repetitions of compactions,
-- answers or verdicts; for judges that have scored two methods or more.
--
-- Expected standard errors follow from the components of variance (agg_variance), for a method of average size: with G
-- sessions (effective ones: (sum n)² / sum n² over a session's questions n), q questions and c points of a method, and
-- K compactions, A answers and J verdicts each,
--   of a difference     2 * (ms / G + mp / q + k_shared / (c K) + k_rest / (q K) + a / (q K A) + j / (q K A J))
--   of a method's mean  (s + ms) / G + (p + mp) / q + the same four terms
-- 1 / K, 1 / (K A) and 1 / (K A J) are means over methods and questions, of different contexts: where a method leaves
-- the same context each time, K is 1 in the last two, the two terms of k are 0, and one more compaction brings nothing.
-- One more session is one of the average size. One more repetition is one of everything: all compactions again with
-- their answers and verdicts, all answers again with their verdicts, or all verdicts. A level that was never repeated
-- has no expectation (std_error_*_then NULL): its noise lies in mp, so gain_at_most says what it could bring if it were
-- all of mp. gain is how far the standard error of a difference falls.
create view next_replicate as
with components as materialized (
    select * from agg_variance
    where method_id is null
),

sizes as (
    select
        *,
        n_cells / n_methods as questions,
        n_method_points / n_methods as points_a_method,
        n_compaction_questions / n_cells as compactions_each,
        n_answers / n_compaction_questions as answers_each,
        n_verdicts / n_answers as verdicts_each,
        greatest(coalesce(raw_session, 0), 0) as s,
        greatest(coalesce(raw_method_session, 0), 0) as ms,
        greatest(coalesce(raw_question, 0), 0) as p,
        greatest(coalesce(raw_method_question, 0), 0) as mp,
        greatest(coalesce(raw_compaction, 0), 0) as k,
        least(
            greatest(coalesce(raw_compaction_shared, 0), 0), greatest(coalesce(raw_compaction, 0), 0)
        ) as k_shared,
        greatest(coalesce(raw_answer, 0), 0) as a,
        greatest(coalesce(raw_judge, 0), 0) as j
    from components
    where raw_method_question is not null
),

-- The work of a judge: one verdict covers all dimensions, so it is counted once.
work as (
    select
        components.judge_id,
        components.n_method_points,
        components.n_cells,
        components.n_compaction_questions,
        components.n_answers,
        components.n_verdicts,
        components.n_sessions,
        components.n_compaction_questions / components.n_cells as compactions_each,
        components.n_answers / components.n_compaction_questions as answers_each,
        components.n_verdicts / components.n_answers as verdicts_each,
        agg_unit_costs.usd_a_compaction,
        agg_unit_costs.usd_an_answer,
        agg_unit_costs.usd_a_verdict,
        agg_unit_costs.usd_a_session,
        agg_unit_costs.calls_a_compaction,
        agg_unit_costs.calls_an_answer,
        agg_unit_costs.calls_a_verdict,
        agg_unit_costs.calls_a_session
    from components
    inner join agg_unit_costs on components.judge_id = agg_unit_costs.judge_id
    where components.dimension = 'overall'
),

options as (
    select
        judge_id,
        'session' as one_more,
        n_method_points * compactions_each / n_sessions as n_compactions,
        n_answers / n_sessions as n_answers,
        n_verdicts / n_sessions as n_verdicts,
        1 as n_sessions
    from work
    union all
    select
        judge_id,
        'compaction' as one_more,
        n_method_points as n_compactions,
        n_cells * answers_each as n_answers,
        n_cells * answers_each * verdicts_each as n_verdicts,
        0 as n_sessions
    from work
    union all
    select
        judge_id,
        'answer' as one_more,
        0 as n_compactions,
        n_compaction_questions as n_answers,
        n_compaction_questions * verdicts_each as n_verdicts,
        0 as n_sessions
    from work
    union all
    select
        judge_id,
        'judge' as one_more,
        0 as n_compactions,
        0 as n_answers,
        n_answers as n_verdicts,
        0 as n_sessions
    from work
),

priced as (
    select
        options.judge_id,
        options.one_more,
        options.n_compactions,
        options.n_answers,
        options.n_verdicts,
        options.n_compactions * work.calls_a_compaction
        + options.n_answers * work.calls_an_answer
        + options.n_verdicts * work.calls_a_verdict
        + options.n_sessions * work.calls_a_session as n_calls,
        case when options.n_compactions = 0 then 0 else options.n_compactions * work.usd_a_compaction end
        + case when options.n_answers = 0 then 0 else options.n_answers * work.usd_an_answer end
        + options.n_verdicts * work.usd_a_verdict
        + options.n_sessions * work.usd_a_session as cost_usd
    from options
    inner join work on options.judge_id = work.judge_id
),

-- Sizes with one more of it, and whether the level was ever repeated.
scaled as (
    select
        sizes.*,
        priced.one_more,
        priced.n_calls,
        priced.cost_usd,
        priced.n_compactions as n_compactions_more,
        priced.n_answers as n_answers_more,
        priced.n_verdicts as n_verdicts_more,
        case priced.one_more when 'session' then (sizes.n_sessions + 1) / sizes.n_sessions else 1 end as by_sessions,
        case priced.one_more
            when 'compaction' then (sizes.compactions_each + 1) / sizes.compactions_each else 1
        end as by_compactions,
        case priced.one_more when 'answer' then (sizes.answers_each + 1) / sizes.answers_each else 1 end as by_answers,
        case priced.one_more
            when 'judge' then (sizes.verdicts_each + 1) / sizes.verdicts_each else 1
        end as by_verdicts,
        case priced.one_more
            when 'session' then sizes.raw_method_session is not null
            when 'compaction' then sizes.raw_compaction is not null
            when 'answer' then sizes.raw_answer is not null
            else sizes.raw_judge is not null
        end as is_known
    from sizes
    inner join priced on sizes.judge_id = priced.judge_id
),

terms as (
    select
        *,
        mp / questions as term_mp,
        ms / effective_sessions as term_ms,
        compaction_in_mean * (k_shared / points_a_method + (k - k_shared) / questions) as term_k,
        a * answer_in_mean / questions as term_a,
        j * judge_in_mean / questions as term_j,
        a * fixed_answer_in_mean / questions as fixed_a,
        j * fixed_judge_in_mean / questions as fixed_j,
        s / effective_sessions + p / questions as term_shared
    from scaled
),

noise as (
    select
        *,
        term_ms + term_mp + term_k + term_a + term_j as now,
        (
            term_ms + term_mp + term_k / by_compactions
            + ((term_a - fixed_a) / by_compactions + fixed_a) / by_answers
            + ((term_j - fixed_j) / by_compactions + fixed_j) / (by_answers * by_verdicts)
        ) / by_sessions as afterwards,
        term_ms + (term_mp + term_k + term_a + term_j) / (by_compactions * by_answers * by_verdicts) as at_best
    from terms
),

expected as (
    select
        judge_id,
        dimension,
        one_more,
        sqrt(term_shared + now) as std_error_mean_now,
        case when is_known then sqrt(term_shared / by_sessions + afterwards) end as std_error_mean_then,
        sqrt(2 * now) as std_error_difference_now,
        case when is_known then sqrt(2 * afterwards) end as std_error_difference_then,
        case when is_known then sqrt(2 * now) - sqrt(2 * afterwards) end as gain,
        sqrt(2 * now) - sqrt(2 * case when is_known then afterwards else at_best end) as gain_at_most,
        n_compactions_more,
        n_answers_more,
        n_verdicts_more,
        n_calls,
        cost_usd,
        case
            when bool_and(cost_usd is not null) over of_judge and bool_or(cost_usd > 0) over of_judge then 'dollars'
            when bool_or(n_calls > 0) over of_judge then 'model calls'
            else 'items'
        end as ranked_by
    from noise
    window of_judge as (partition by judge_id)
),

rated as (
    select
        *,
        gain / nullif(
            case ranked_by
                when 'dollars' then cost_usd
                when 'model calls' then n_calls
                else n_compactions_more + n_answers_more + n_verdicts_more
            end, 0
        ) as gain_a_unit
    from expected
)

select
    rated.judge_id,
    judges.judge,
    rated.dimension,
    rated.one_more,  -- session (of the average size), or one more repetition of every compaction, answer or verdict
    -- (judge)
    rated.std_error_difference_now,  -- Expected standard error of the difference of two methods on the same questions,
    -- in points, with what there is
    rated.std_error_difference_then,  -- The same with one more; NULL where the level was never repeated, so that its
    -- noise is not known
    rated.std_error_mean_now,  -- Expected standard error of a method's mean, in points, with what there is
    rated.std_error_mean_then,  -- The same with one more; NULL as above
    rated.gain,  -- std_error_difference_now - std_error_difference_then, in points
    rated.gain_at_most,  -- gain; where that is not known, what it is if all noise on a question comes from this level
    cast(ceil(rated.n_compactions_more) as bigint) as n_compactions,  -- Compactions that it takes
    cast(ceil(rated.n_answers_more) as bigint) as n_answers,  -- Answers that it takes
    cast(ceil(rated.n_verdicts_more) as bigint) as n_verdicts,  -- Verdicts that it takes
    cast(ceil(rated.n_calls) as bigint) as n_calls,  -- Model calls that it takes, by what was sent so far; none for the
    -- embedded engine
    rated.cost_usd,  -- US dollars that it costs, by what was paid so far; NULL where not known
    rated.gain / nullif(rated.cost_usd, 0) as gain_per_usd,  -- gain per US dollar; NULL where free or not known
    1000 * rated.gain / nullif(rated.n_calls, 0) as gain_per_1000_calls,  -- gain per 1,000 model calls; NULL where
    -- there are none
    rated.ranked_by,  -- What is_best goes by: gain per dollar, where every option's cost is known; else per model call;
    -- else per item
    coalesce(
        rated.gain > 0
        and row_number() over (
            partition by rated.judge_id, rated.dimension
            order by
                case
                    when rated.gain > 0 then coalesce(rated.gain_a_unit, cast('infinity' as double))
                end desc nulls last,
                rated.one_more asc
        ) = 1, false
    ) as is_best  -- Whether it brings most for what it takes, among those whose gain is known
from rated
left join judges on rated.judge_id = judges.judge_id
order by
    judges.judge, rated.judge_id, rated.dimension <> 'overall', rated.dimension,
    case rated.one_more when 'session' then 1 when 'compaction' then 2 when 'answer' then 3 else 4 end;
