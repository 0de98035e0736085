-- One row per judge × day of taking × dimension (and 'overall'): how far the judge's scores of the anchors have moved.
--
-- The same answers, the same version of the judge, asked anew: every answer is compared with the judge's first taking
-- of it, criterion by criterion. The interval is clustered. Beyond noise is a shift that the judge's own
-- scatter does not explain: the standard deviation of an answer's shift between its first two takings, divided by the
-- root of the number of answers, times the quantile of t. Drift is both: told apart from 0 with p adjusted over the
-- day's dimensions (Holm 1979) below 0.01, and beyond noise. Days share their first taking, so a first taking that was
-- off by chance stays visible in all of them.
create view judge_drift as
with per_cluster as (
    select
        shifts.judge_id,
        shifts.taken_on,
        shifts.dimension,
        min(shifts.first_taken_on) as first_taken_on,
        sum(shifts.first_score) as first_sum,
        sum(shifts.shift) as shift_sum,
        count(*) as n_answers,
        count(distinct shifts.session_id) as n_sessions
    from int_anchor_shifts as shifts
    inner join stg_clusters on shifts.session_id = stg_clusters.session_id
    group by shifts.judge_id, shifts.taken_on, shifts.dimension, stg_clusters.cluster
),

figures as (
    select
        judge_id,
        taken_on,
        dimension,
        min(first_taken_on) as first_taken_on,
        sum(first_sum) / sum(n_answers) as mean_first,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(shift_sum), list(n_answers)) as shifted
    from per_cluster
    group by judge_id, taken_on, dimension
),

numbered as (
    select
        judge_id,
        answer_id,
        dimension,
        shift,
        row_number() over (partition by judge_id, answer_id, dimension order by taken_on) as taking
    from int_anchor_shifts
),

noise as (
    select
        judge_id,
        dimension,
        stddev_samp(shift) as noise_sd,
        count(*) as n_noise
    from numbered
    where taking = 2
    group by judge_id, dimension
),

tested as (
    select
        figures.judge_id,
        figures.taken_on,
        figures.first_taken_on,
        figures.dimension,
        figures.mean_first,
        figures.n_sessions,
        figures.shifted,
        noise.noise_sd,
        t_test_of(figures.shifted) as p_value,
        case
            when noise.n_noise >= 2
                then
                    abs(figures.shifted.mean)
                    > greatest(1e-9, t_quantile(0.975, noise.n_noise - 1) * noise.noise_sd / sqrt(figures.shifted.n))
        end as is_beyond_noise
    from figures
    left join noise on figures.judge_id = noise.judge_id and figures.dimension = noise.dimension
),

adjusted as (
    select * from holm_adjusted(tested, (judge_id, taken_on))
)

select
    adjusted.judge_id,
    judges.judge,
    adjusted.taken_on,  -- Day on which the anchors were scored anew, in UTC
    adjusted.dimension,
    adjusted.mean_first,  -- Mean over the anchors at the first taking of each, 0 to 5
    adjusted.mean_first + adjusted.shifted.mean as mean,  -- Mean over the same anchors and criteria on this day
    adjusted.shifted.mean as shift,  -- mean - mean_first; 0 on the first day, and always of a judge that is
    -- deterministic
    adjusted.shifted.std_error,  -- Standard error of shift, clustered; NULL with a single cluster
    ci_low(adjusted.shifted) as ci_low,  -- Lower end of the 95 % interval of shift
    ci_high(adjusted.shifted) as ci_high,  -- Upper end of the 95 % interval of shift
    adjusted.p_value,  -- Two-sided p-value of no shift
    adjusted.p_adjusted,  -- The same, adjusted over the dimensions of this judge and day (Holm)
    adjusted.shifted.n as n_answers,  -- Anchors that this day and their first taking have a score of
    adjusted.n_sessions,  -- Sessions of these anchors
    adjusted.noise_sd,  -- Standard deviation of an answer's shift between its first two takings: the judge's own
    -- scatter; NULL before both
    adjusted.is_beyond_noise,  -- Whether that scatter alone would hardly (5 %) give such a shift; NULL before a second
    -- taking
    case
        when adjusted.is_beyond_noise is not null then adjusted.p_adjusted < 0.01 and adjusted.is_beyond_noise
    end as drift,  -- p_adjusted below 0.01 and beyond noise; NULL where that cannot be told
    adjusted.first_taken_on,  -- Day of the first taking
    adjusted.shifted.n_clusters
from adjusted
left join judges on adjusted.judge_id = judges.judge_id
order by judges.judge, adjusted.judge_id, adjusted.taken_on, adjusted.dimension;
