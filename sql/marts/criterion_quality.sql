-- One row per judge × criterion: whether the criterion tells methods apart, or is answered alike by everything.
--
-- use, by the first line that holds:
--   too few answers      fewer than 30 scored answers, fewer than 2 methods, or fewer than 2 sessions
--   separates methods    methods differ by more than chance (z_methods > 1.645, one-sided 5 %), the best and the worst
--                        are at least 0.25 points apart (half of the half point that is the finest step a judge is
--                        asked for), and methods are at least 1 % of the variance (Cohen 1988 calls that small)
--   at the ceiling       at least 90 % of the scores are 5, to the nearest half point: 4.75 and more
--   at the floor         at least 90 % are 0, to the nearest half point: less than 0.25
--   separates nothing    else
--
-- z_methods and share_of_methods are of the analysis of variance in `agg_criterion_methods`. The share is that of the
-- variance between true method means in the variance of single questions' scores about the question's own difficulty.
--
-- Of current methods only: those that the newest run of the study asks for.
create view criterion_quality as
with whole as (
    select
        judge_id,
        criterion,
        any_value(dimension) as dimension,
        count(score) as n_answers,
        count(*) - count(score) as n_unscored,
        count(distinct session_id) filter (where score is not null) as n_sessions,
        avg(score) as mean,
        stddev_samp(score) as std_dev,
        count(*) filter (where score >= 4.75) / nullif(count(score), 0) as share_at_ceiling,
        count(*) filter (where score < 0.25) / nullif(count(score), 0) as share_at_floor,
        case
            when
                min(score) filter (where rest is not null) < max(score) filter (where rest is not null)
                and round(stddev_pop(rest), 9) > 0
                then corr(score, rest)
        end as item_rest_correlation
    from int_criterion_answers
    group by judge_id, criterion
),

method_means as (
    select
        judge_id,
        criterion,
        method_id,
        round(avg(score), 9) as mean
    from int_criterion_answers
    where score is not null
    group by judge_id, criterion, method_id
),

extremes as (
    select
        method_means.judge_id,
        method_means.criterion,
        count(*) as n_methods,
        max(method_means.mean) - min(method_means.mean) as range_of_methods,
        arg_max(stg_methods.method, { 'mean': method_means.mean, 'name': stg_methods.method }) as best,
        arg_min(stg_methods.method, { 'mean': method_means.mean, 'name': stg_methods.method }) as worst
    from method_means
    inner join stg_methods on method_means.method_id = stg_methods.method_id
    group by method_means.judge_id, method_means.criterion
),

judged as (
    select
        whole.judge_id,
        judges.judge,
        whole.criterion,
        whole.dimension,
        whole.n_answers,
        whole.n_unscored,
        whole.n_sessions,
        coalesce(extremes.n_methods, 0) as n_methods,
        whole.mean,
        whole.std_dev,
        whole.share_at_ceiling,
        whole.share_at_floor,
        extremes.range_of_methods,
        case when extremes.range_of_methods > 0 then extremes.best end as best,
        case when extremes.range_of_methods > 0 then extremes.worst end as worst,
        case
            when compared.var_methods + compared.ms_within > 0
                then compared.var_methods / (compared.var_methods + compared.ms_within)
        end as share_of_methods,
        compared.z_methods,
        whole.item_rest_correlation
    from whole
    left join judges on whole.judge_id = judges.judge_id
    left join extremes on whole.judge_id = extremes.judge_id and whole.criterion = extremes.criterion
    left join agg_criterion_methods as compared
        on whole.judge_id = compared.judge_id and whole.criterion = compared.criterion
)

select
    judge_id,
    judge,
    criterion,  -- Id of the criterion
    dimension,  -- Dimension that the criterion belongs to
    n_answers,  -- Answers with a score on it
    n_unscored,  -- Answers for which it was asked and not scored
    mean,  -- Mean score, 0 to 5
    std_dev,  -- Standard deviation of the scores over answers, in points
    share_at_ceiling,  -- Share (0 to 1) of scores that are 5 to the nearest half point
    share_at_floor,  -- Share (0 to 1) of scores that are 0 to the nearest half point
    range_of_methods,  -- Mean of the best method less that of the worst, in points
    best,  -- Method with the highest mean; NULL where all have the same
    worst,  -- Method with the lowest mean; NULL where all have the same
    share_of_methods,  -- Variance between true method means as share (0 to 1) of the variance on a question, corrected
    -- for chance
    z_methods,  -- Normal deviate of the test that all methods are equal on it; above 1.645 they are not, at 5 %
    item_rest_correlation,  -- Correlation over answers with the mean of the answer's other criteria; NULL where either
    -- does not vary
    case
        when n_answers < 30 or n_methods < 2 or n_sessions < 2 then 'too few answers'
        when z_methods > 1.645 and range_of_methods >= 0.25 and share_of_methods >= 0.01 then 'separates methods'
        when share_at_ceiling >= 0.9 then 'at the ceiling'
        when share_at_floor >= 0.9 then 'at the floor'
        else 'separates nothing'
    end as use,  -- separates methods, at the ceiling, at the floor, separates nothing, or too few answers
    n_methods,  -- Methods with a score on it
    n_sessions  -- Sessions that the scored answers are of
from judged
order by judge, judge_id, dimension, criterion;
