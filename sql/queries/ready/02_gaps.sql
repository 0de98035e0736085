-- Gaps: in which dimensions do methods differ most, and which hardly separate them?
--
-- One row per judge × dimension, the widest gap first. A gap is best mean less worst mean over the methods that apply
-- everywhere, without the controls none, empty and recency, of which two would always be the ends. p_adjusted is of
-- this best against this worst; it corrects for all pairs and dimensions, so also for having picked the two that differ
-- most. A dimension whose criteria are at the ceiling or separate nothing tells little, whatever its gap. The study's
-- published gaps between three other methods stand beside ours as a reference, and are in no figure of ours: accuracy
-- 0.61, then context awareness 0.45; completeness and instruction following hardly differ.
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id (default: every judge, one after the other)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge               embedded (no language model) or the spec of a model
--   judge_id            judge version
--   dimension           dimension of the rubric, or overall
--   gap                 mean of the best method less that of the worst, in points of 0 to 5
--   best                method with the highest mean; NULL where all have the same
--   best_mean           its mean
--   worst               method with the lowest mean; NULL where all have the same
--   worst_mean          its mean
--   p_adjusted          p of best against worst, Holm over all pairs and dimensions of the judge; NULL with one session
--   n_methods           methods that are compared
--   criteria            what the view criterion_quality says of each criterion of the dimension
--   published_gap       reference: the gap in the published study's table, between its three methods
--   published_best      reference: its best method there
--   published_worst     reference: its worst method there
-- Means are rounded to 9 digits where they are ordered: the last ones depend on the order of a parallel sum.
with compared as (
    select
        leaderboard_long.judge,
        leaderboard_long.judge_id,
        leaderboard_long.dimension,
        leaderboard_long.method,
        round(leaderboard_long.mean, 9) as mean
    from leaderboard_long
    inner join leaderboard using (judge_id, method_id)
    inner join methods on leaderboard_long.method_id = methods.method_id
    where
        not leaderboard.is_partial
        and methods.strategy not in ('none', 'empty', 'recency')
        and judge_is_wanted(leaderboard_long.judge, leaderboard_long.judge_id)
        and version_is_wanted(leaderboard_long.is_current)
),

gaps as (
    select
        judge,
        judge_id,
        dimension,
        max(mean) - min(mean) as gap,
        case when min(mean) < max(mean) then arg_max(method, (mean, method)) end as best,
        max(mean) as best_mean,
        case when min(mean) < max(mean) then arg_min(method, (mean, method)) end as worst,
        min(mean) as worst_mean,
        count(*) as n_methods
    from compared
    group by judge, judge_id, dimension
),

quality as (
    select
        judge_id,
        dimension,
        string_agg(criterion || ': ' || use, '; ' order by criterion) as criteria
    from criterion_quality
    group by judge_id, dimension
),

published as (
    unpivot (
        select
            method,
            overall,
            accuracy,
            context_awareness,
            artifact_trail,
            completeness,
            continuity,
            instruction_following
        from published_leaderboard
    )
    on
    overall, accuracy, context_awareness, artifact_trail, completeness, continuity, instruction_following
    into name dimension value mean
),

published_gaps as (
    select
        dimension,
        round(max(mean) - min(mean), 2) as gap,
        arg_max(method, mean) as best,
        arg_min(method, mean) as worst
    from published
    group by dimension
)

select
    gaps.judge,
    gaps.judge_id,
    gaps.dimension,
    gaps.gap,
    gaps.best,
    gaps.best_mean,
    gaps.worst,
    gaps.worst_mean,
    paired_differences.p_adjusted,
    gaps.n_methods,
    quality.criteria,
    published_gaps.gap as published_gap,
    published_gaps.best as published_best,
    published_gaps.worst as published_worst
from gaps
left join paired_differences
    on
        gaps.judge_id = paired_differences.judge_id
        and gaps.dimension = paired_differences.dimension
        and least(gaps.best, gaps.worst) = paired_differences.method_a
        and greatest(gaps.best, gaps.worst) = paired_differences.method_b
left join quality on gaps.judge_id = quality.judge_id and gaps.dimension = quality.dimension
left join published_gaps on gaps.dimension = published_gaps.dimension
order by gaps.judge asc, gaps.judge_id asc, gaps.gap desc, gaps.dimension asc
