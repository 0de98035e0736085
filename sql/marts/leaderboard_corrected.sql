-- One row per judge × method × dimension (and 'overall'): the judge's mean, and the same corrected by people's labels.
--
-- Prediction-powered inference (Angelopoulos and others 2023, Science 382:669) with the tuned weight of the judge
-- (Angelopoulos, Duchi and Zrnic 2023, PPI++). With the judge's score f of every answer, people's score h of the
-- labelled ones and the judge's weight lambda,
--   corrected = lambda * mean(f) + weighted mean(h - lambda * f)
-- the second mean over the labelled answers, each weighted by the inverse of its chance of being drawn (Hájek 1971).
-- What a judge is wrong by is in the second term, whatever lambda is; lambda only decides how narrow the interval gets.
-- It comes from `agg_rectifiers`.
--
-- The error is clustered: both terms are means, whose residuals are added up session by session (a session
-- in both terms counts once), each with the CR2 factor of `cluster_figures`; the degrees of freedom are those of
-- `cluster_figures` at shares that mix the sessions of both terms as they contribute to the variance.
--
-- A method with at least 10 labelled answers in at least 2 sessions is corrected by its own labels. `pooled` corrects
-- every method by the labels of all, with lambda = 1: that assumes that the judge is equally wrong about every method,
-- which is just what people were asked to find out. It stands in where a method has too few labels of its own.
create view leaderboard_corrected as
with enough as (
    select
        rectifying.judge_id,
        rectifying.dimension,
        rectifying.method_id,
        rectifying.rectifier_of,
        max(rectifying.judge_weight) as judge_weight,
        cast(sum(rectifying.n_labelled) as bigint) as n_labelled,
        count(*) as n_sessions,
        count(distinct stg_clusters.cluster) as n_clusters,
        bool_or(rectifying.is_drawn) as is_drawn
    from agg_rectifiers as rectifying
    inner join stg_clusters on rectifying.session_id = stg_clusters.session_id
    group by rectifying.judge_id, rectifying.dimension, rectifying.method_id, rectifying.rectifier_of
),

pieces as (
    select
        enough.judge_id,
        enough.dimension,
        enough.method_id,
        enough.rectifier_of,
        scores.cluster,
        enough.judge_weight,
        scores.n_answers,
        scores.score_sum,
        0.0 as weight_sum,
        0.0 as rest_sum
    from enough
    inner join agg_cluster_scores as scores using (judge_id, dimension, method_id)
    where enough.n_labelled >= 10 and enough.n_clusters >= 2
    union all
    select
        rectifying.judge_id,
        rectifying.dimension,
        rectifying.method_id,
        rectifying.rectifier_of,
        stg_clusters.cluster,
        rectifying.judge_weight,
        0 as n_answers,
        0.0 as score_sum,
        rectifying.weight_sum,
        rectifying.rest_sum
    from agg_rectifiers as rectifying
    inner join enough using (judge_id, dimension, method_id, rectifier_of)
    inner join stg_clusters on rectifying.session_id = stg_clusters.session_id
    where enough.n_labelled >= 10 and enough.n_clusters >= 2
),

corrected as (
    select * from prediction_powered(pieces)
),

raw as (
    select
        judge_id,
        method_id,
        dimension,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(score_sum), list(n_answers)) as figures
    from agg_cluster_scores
    group by judge_id, method_id, dimension
)

select
    raw.judge_id,
    judges.judge,
    stg_methods.method,
    raw.dimension,
    raw.figures.mean as raw_mean,  -- Mean of the judge's scores over answers, 0 to 5
    ci_low(raw.figures) as raw_ci_low,  -- Lower end of its 95 % interval, clustered; NULL with a single
    -- cluster
    ci_high(raw.figures) as raw_ci_high,  -- Upper end of its 95 % interval, clustered; NULL with a single
    -- cluster
    coalesce(own.figure.mean, pooled.figure.mean) as corrected,  -- What people would give on average, from the judge's
    -- scores and their labels; NULL as undefined_because says
    coalesce(own.figure.std_error, pooled.figure.std_error) as std_error,  -- Standard error of corrected, clustered by
    -- session
    ci_low(coalesce(own.figure, pooled.figure)) as ci_low,  -- Lower end of the 95 % interval of corrected; not cut off
    -- at 0
    ci_high(coalesce(own.figure, pooled.figure)) as ci_high,  -- Upper end of the 95 % interval of corrected; not cut
    -- off at 5
    raw.figures.n as n_answers,  -- Answers of the method that the judge scored
    coalesce(own_labels.n_labelled, 0) as n_labelled,  -- Of these, answers that people labelled on every criterion that
    -- the judge scored in the dimension
    coalesce(own_labels.n_sessions, 0) as n_sessions_labelled,  -- Sessions of these labelled answers
    coalesce(own.judge_weight, pooled.judge_weight) as judge_weight,  -- Weight of the judge's scores (lambda of PPI++):
    -- 0, only the labels count, to 1, plain prediction-powered
    coalesce(own.rectifier, pooled.rectifier) as rectifier,  -- corrected - raw_mean: above 0 where the judge is too
    -- strict, below 0 where it is too lenient
    coalesce(own.rectifier_of, pooled.rectifier_of) as rectifier_of,  -- method: its own labels. all methods: it has too
    -- few, and the judge is assumed to be as wrong about it as about all
    case
        when pooled.figure is not null or own.figure is not null then null
        when all_labels.n_labelled is null then 'no labels'
        when all_labels.n_sessions < 2 then 'labels of one session only'
        when all_labels.n_clusters < 2 then 'labels of one project only'
        else 'fewer than 10 labelled answers'
    end as undefined_because,  -- Why there is no corrected figure; NULL where there is one
    pooled.figure.mean as pooled,  -- The same corrected by the labels of all methods, which assumes that the judge is
    -- equally wrong about every method
    ci_low(pooled.figure) as pooled_ci_low,  -- Lower end of the 95 % interval of pooled
    ci_high(pooled.figure) as pooled_ci_high,  -- Upper end of the 95 % interval of pooled
    coalesce(all_labels.n_labelled, 0) as n_labelled_pooled,  -- Labelled answers of all methods in the dimension
    raw.n_sessions,  -- Sessions of the answers that the judge scored
    case
        when all_labels.is_drawn then 'inverse chance of being drawn'
        when all_labels.is_drawn is not null then 'all alike'
    end as weights,  -- How labelled answers are weighted: by the inverse chance of being drawn, or all alike (labels of
    -- no sample)
    raw.method_id,
    stg_methods.is_current,
    raw.figures.n_clusters
from raw
inner join stg_methods on raw.method_id = stg_methods.method_id
left join judges on raw.judge_id = judges.judge_id
left join corrected as own
    on
        raw.judge_id = own.judge_id
        and raw.method_id = own.method_id
        and raw.dimension = own.dimension
        and own.rectifier_of = 'method'
left join corrected as pooled
    on
        raw.judge_id = pooled.judge_id
        and raw.method_id = pooled.method_id
        and raw.dimension = pooled.dimension
        and pooled.rectifier_of = 'all methods'
left join enough as own_labels
    on
        raw.judge_id = own_labels.judge_id
        and raw.method_id = own_labels.method_id
        and raw.dimension = own_labels.dimension
        and own_labels.rectifier_of = 'method'
left join enough as all_labels
    on
        raw.judge_id = all_labels.judge_id
        and raw.method_id = all_labels.method_id
        and raw.dimension = all_labels.dimension
        and all_labels.rectifier_of = 'all methods'
order by
    judges.judge asc, raw.judge_id asc, raw.dimension asc, corrected desc nulls last, stg_methods.method asc;
