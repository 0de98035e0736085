-- One row per judge × criterion on which methods can be compared: the analysis of variance of methods.
--
-- Methods are compared on the same questions: of each score the mean of all methods on its probe is taken off. Sessions
-- are what varies by chance: z_methods comes from the analysis of variance of session × method means, with the methods'
-- mean square over that of methods within sessions, F turned into a normal deviate (Paulson 1942). var_methods is the
-- variance between true method means by the same analysis, so corrected for chance. Exact where every method has every
-- question.
create view agg_criterion_methods as
with probe_means as (
    select
        judge_id,
        criterion,
        session_id,
        probe_id,
        method_id,
        avg(score) as score
    from int_criterion_answers
    where score is not null
    group by judge_id, criterion, session_id, probe_id, method_id
),

-- What single methods are off the mean of the question. A question that one method alone has compares nothing.
centred as (
    select
        judge_id,
        criterion,
        session_id,
        probe_id,
        method_id,
        round(score - avg(score) over of_probe, 9) as off
    from probe_means
    window of_probe as (partition by judge_id, criterion, probe_id)
    qualify count(*) over of_probe > 1
),

cells as (
    select
        judge_id,
        criterion,
        session_id,
        method_id,
        count(*) as n,
        sum(off) as off_sum,
        sum(off ** 2) as off_square,
        avg(off) as off_mean
    from centred
    group by judge_id, criterion, session_id, method_id
),

methods_compared as (
    select
        judge_id,
        criterion,
        method_id,
        count(*) as n_sessions,
        avg(off_mean) as off_mean,
        var_pop(off_mean) * count(*) as off_spread,
        sum(off_square) - sum(off_sum) ** 2 / sum(n) as within_spread,
        sum(n) as n
    from cells
    group by judge_id, criterion, method_id
),

sizes as (
    select
        judge_id,
        criterion,
        count(distinct session_id) as n_sessions,
        count(distinct probe_id) as n_probes
    from centred
    group by judge_id, criterion
),

squares as (
    select
        methods_compared.judge_id,
        methods_compared.criterion,
        count(*) - 1 as df_methods,
        sum(methods_compared.n_sessions) - any_value(sizes.n_sessions) - count(*) + 1 as df_rest,
        sum(methods_compared.n) - any_value(sizes.n_probes) - count(*) + 1 as df_within,
        sum(methods_compared.n_sessions * methods_compared.off_mean ** 2)
        - sum(methods_compared.n_sessions * methods_compared.off_mean) ** 2 / sum(methods_compared.n_sessions)
            as ss_methods,
        sum(methods_compared.off_spread) as ss_rest,
        sum(methods_compared.within_spread) as ss_within,
        (
            sum(methods_compared.n_sessions)
            - sum(methods_compared.n_sessions ** 2) / sum(methods_compared.n_sessions)
        ) / nullif(count(*) - 1, 0) as sessions_a_method
    from methods_compared
    inner join sizes
        on methods_compared.judge_id = sizes.judge_id and methods_compared.criterion = sizes.criterion
    group by methods_compared.judge_id, methods_compared.criterion
),

mean_squares as (
    select
        judge_id,
        criterion,
        df_methods,
        df_rest,
        greatest(0, round(ss_methods / nullif(df_methods, 0), 12)) as ms_methods,
        case when df_rest > 0 then greatest(0, round(ss_rest / df_rest, 12)) end as ms_rest,
        case when df_within > 0 then greatest(0, round(ss_within / df_within, 12)) end as ms_within,
        sessions_a_method
    from squares
    where df_methods > 0
)

select
    judge_id,
    criterion,  -- Criterion
    greatest(0, ms_methods - ms_rest) / sessions_a_method as var_methods,  -- Variance between true method means,
    -- points²
    ms_within,  -- Variance of single scores of a method about the question's own difficulty, points²
    case
        when ms_methods = 0 then 0.0
        when ms_rest = 0 then 'infinity'::double
        else
            ((1 - 2 / (9 * df_rest)) * cbrt(ms_methods / ms_rest) - (1 - 2 / (9 * df_methods)))
            / sqrt(2 / (9 * df_rest) * cbrt(ms_methods / ms_rest) ** 2 + 2 / (9 * df_methods))
    end as z_methods  -- Normal deviate of the test that all methods are equal
from mean_squares
where ms_rest is not null and ms_within is not null;
