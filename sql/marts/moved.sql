-- One row per judge × method × dimension (and 'overall') that has figures of both nights: what moved, and whether more
-- than noise would.
--
-- Which nights: see `agg_moved_sessions`. difference is the mean now less the mean then. It is the sum of two parts:
-- difference_same is that of the sessions whose text is the same both times, over their own means, and so comes from
-- what the method, the engine or the judge does differently; difference_other is the rest, which new, changed and gone
-- sessions brought.
--
-- The error is that of a difference of two ratios over the union of sessions (T the totals, N the counts, 1 now, 0
-- then): psi = (t1 - m1 n1) / (N1 √(1 - n1/N1)) - (t0 - m0 n0) / (N0 √(1 - n0/N0)) a session, std_error = √Σ psi²,
-- which is the bias-reduced (CR2) one. With the same sessions and counts both times it is that of `paired_differences`.
-- Its degrees of freedom are those of `cluster_figures` with p a cluster's share of the answers that can differ: those
-- that only one of the nights has, and all where the version of method, engine or judge is another. So a single new
-- session, however bad, proves nothing. With fewer than two sessions in one of the nights there is no error (NULL).
--
-- p_adjusted and p_adjusted_same are corrected after Holm over the methods of a judge, within the dimension. Where
-- nothing can differ (the same sessions, answers and code) there is nothing to test: no p-value, and no place in the
-- family of the correction.
create view moved as
with parts as (
    select
        *,
        unnest(case when session_is = 'same' then ['all', 'same'] else ['all'] end) as part
    from agg_moved_sessions
),

nights_of_figures as (
    select distinct
        night,
        taken_at,
        judge_id,
        method,
        method_id,
        engine
    from night_figures
),

totals as (
    select
        judge_id,
        method,
        dimension,
        part,
        any_value(judge) as judge,
        any_value(judge_id_then) as judge_id_then,
        any_value(night_then) as night_then,
        any_value(night_now) as night_now,
        sum(score_sum_then) as total_then,
        sum(score_sum) as total,
        cast(sum(n_answers_then) as double) as n_then,
        cast(sum(n_answers) as double) as n,
        count(*) filter (where n_answers_then > 0) as n_sessions_then,
        count(*) filter (where n_answers > 0) as n_sessions,
        count(*) filter (where session_is = 'same') as n_same,
        count(*) filter (where session_is = 'changed') as n_changed,
        count(*) filter (where session_is = 'new') as n_new,
        count(*) filter (where session_is = 'gone') as n_gone
    from parts
    group by judge_id, method, dimension, part
    having sum(n_answers_then) > 0 and sum(n_answers) > 0
),

known as (
    select
        totals.*,
        was.taken_at as taken_then,
        now.taken_at as taken_now,
        now.method_id,
        totals.judge_id = totals.judge_id_then as is_same_judge,
        now.engine = was.engine as is_same_engine,
        now.method_id = was.method_id as is_same_code
    from totals
    inner join nights_of_figures as now
        on totals.night_now = now.night and totals.judge_id = now.judge_id and totals.method = now.method
    inner join nights_of_figures as was
        on totals.night_then = was.night and totals.judge_id_then = was.judge_id and totals.method = was.method
),

deviations as (
    select
        parts.judge_id,
        parts.method,
        parts.dimension,
        parts.part,
        cluster_deviation(sum(parts.score_sum), sum(parts.n_answers), any_value(known.total), any_value(known.n))
        - cluster_deviation(
            sum(parts.score_sum_then), sum(parts.n_answers_then), any_value(known.total_then), any_value(known.n_then)
        ) as psi,
        sum(parts.n_answers) > 0 as is_now,
        sum(parts.n_answers_then) > 0 as is_then,
        sum(case
            when parts.session_is = 'same' and known.is_same_judge and known.is_same_engine and known.is_same_code
                then
                    least(parts.n_answers, parts.n_answers_then) * (1 / known.n - 1 / known.n_then) ** 2
                    + greatest(parts.n_answers - parts.n_answers_then, 0) / known.n ** 2
                    + greatest(parts.n_answers_then - parts.n_answers, 0) / known.n_then ** 2
            else parts.n_answers / known.n ** 2 + parts.n_answers_then / known.n_then ** 2
        end) as weight
    from parts
    inner join known using (judge_id, method, dimension, part)
    left join stg_clusters on parts.session_id = stg_clusters.session_id
    group by
        parts.judge_id, parts.method, parts.dimension, parts.part, coalesce(stg_clusters.cluster, parts.session_id)
),

shares as (
    select
        *,
        weight / nullif(sum(weight) over (partition by judge_id, method, dimension, part), 0) as p
    from deviations
),

sums as (
    select
        judge_id,
        method,
        dimension,
        part,
        sum(weight) > 0 as can_differ,
        sum(psi ** 2) as squares,
        sum(p ** 2) as p,
        sum(p ** 2 / nullif(1 - p, 0)) as q,
        sum((p ** 2 / nullif(1 - p, 0)) ** 2) as qq,
        max(abs(psi)) as largest,
        least(count(*) filter (where is_now), count(*) filter (where is_then)) as n_clusters
    from shares
    group by judge_id, method, dimension, part
),

tested as (
    select
        known.*,
        sums.can_differ,
        figures_of_sums({
            'total': known.total / known.n - known.total_then / known.n_then,
            'whole': 1.0,
            'squares': sums.squares,
            'p': coalesce(sums.p, 1),
            'q': coalesce(sums.q, 0),
            'qq': coalesce(sums.qq, 0),
            'largest': sums.largest,
            'n_clusters': sums.n_clusters
        }) as moved,
        case when sums.can_differ then t_test_of(moved) end as p_value
    from known
    inner join sums using (judge_id, method, dimension, part)
),

adjusted as (
    select * from holm_adjusted(tested, (judge_id, dimension, part))
)

select
    entire.judge_id,  -- Judge version now
    entire.judge,
    entire.method,
    entire.dimension,
    entire.total_then / entire.n_then as mean_then,  -- Mean over answers on the earlier night, 0 to 5
    entire.total / entire.n as mean,  -- Mean over answers on the last night, 0 to 5
    entire.moved.mean as difference,  -- mean - mean_then: below 0, the method got worse
    entire.moved.std_error,  -- Standard error of difference over the union of sessions (CR2); NULL with fewer than two
    -- sessions in one of the nights
    ci_low(entire.moved) as ci_low,  -- Lower end of the 95 % interval of difference
    ci_high(entire.moved) as ci_high,  -- Upper end of the 95 % interval of difference
    entire.p_value,  -- Two-sided p-value of no difference; NULL where nothing can differ, or without an error
    entire.p_adjusted,  -- The same, adjusted over the judge's methods in this dimension (Holm)
    entire.can_differ and entire.p_adjusted < 0.05 as is_beyond_noise,  -- p_adjusted below 0.05; NULL where that cannot
    -- be told
    alike.moved.mean as difference_same,  -- Difference of the means over the sessions whose text is the same both
    -- times; NULL where there is none
    alike.moved.std_error as std_error_same,  -- Standard error of difference_same
    ci_low(alike.moved) as ci_low_same,  -- Lower end of the 95 % interval of difference_same
    ci_high(alike.moved) as ci_high_same,  -- Upper end of the 95 % interval of difference_same
    alike.p_value as p_value_same,  -- Two-sided p-value of no difference on these sessions
    alike.p_adjusted as p_adjusted_same,  -- The same, adjusted over the judge's methods in this dimension (Holm)
    alike.can_differ and alike.p_adjusted < 0.05 as is_same_beyond_noise,  -- p_adjusted_same below 0.05; NULL where
    -- that cannot be told
    entire.moved.mean - coalesce(alike.moved.mean, 0) as difference_other,  -- difference - difference_same: what new,
    -- changed and gone sessions brought
    cast(entire.n_then as bigint) as n_answers_then,
    cast(entire.n as bigint) as n_answers,  -- Answers with a score now
    entire.n_sessions_then,  -- Sessions of these answers then
    entire.n_sessions,  -- Sessions of these answers now
    entire.n_same as n_sessions_same,  -- Sessions of both nights whose text is the same
    entire.n_changed as n_sessions_changed,  -- Sessions of both nights whose text is another: they grew or were read
    -- anew
    entire.n_new as n_sessions_new,  -- Sessions that only the last night has answers of
    entire.n_gone as n_sessions_gone,  -- Sessions that only the earlier night has answers of
    entire.is_same_judge,  -- Whether both means are by one version of the judge; where not, the difference says nothing
    -- of the method
    entire.is_same_engine,  -- Whether the same versions or models asked and answered
    entire.is_same_code,  -- Whether the method has the same version and parameters
    entire.night_then,  -- Number of the earlier night
    entire.night_now,
    entire.taken_then,  -- When the earlier night was taken, in UTC
    entire.taken_now,  -- When the last night was taken, in UTC
    entire.judge_id_then,  -- Judge version of the earlier mean
    entire.method_id,  -- Identity of the method now
    entire.moved.df,  -- Degrees of freedom of std_error
    entire.moved.n_clusters  -- Projects or sessions (`stg_clusters`) of the night with fewer of them
from adjusted as entire
left join adjusted as alike
    on
        entire.judge_id = alike.judge_id
        and entire.method = alike.method
        and entire.dimension = alike.dimension
        and alike.part = 'same'
where entire.part = 'all'
order by entire.judge, entire.judge_id, entire.dimension <> 'overall', entire.dimension, difference, entire.method;
