-- Weakest dimension: what does every method lose first?
--
-- One row per judge × method, in the order of the leaderboard. Compare the weakest dimension's interval with the mean
-- of the next one: where they overlap, which of the two is the weakest is open. The study found the artifact trail
-- weakest for every method (2.19 to 2.45 of 5).
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id (default: every judge, one after the other)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge           embedded (no language model) or the spec of a model
--   judge_id        judge version
--   method          name of the method
--   weakest         dimension with the lowest mean
--   mean            its mean, 0 to 5
--   ci_low          lower end of its 95 % interval; NULL with a single session
--   ci_high         upper end
--   n_answers       answers that have a score in it
--   next_weakest    dimension with the second lowest mean; NULL where only one is scored
--   next_mean       its mean
--   as_the_study    whether it is the one that the study found, artifact_trail
-- Means are rounded to 9 digits where they are ordered: the last ones depend on the order of a parallel sum.
with placed as (
    select
        judge,
        judge_id,
        method,
        method_id,
        dimension,
        mean,
        ci_low,
        ci_high,
        n_answers,
        row_number() over (partition by judge_id, method_id order by round(mean, 9), dimension) as place,
        lead(dimension) over (partition by judge_id, method_id order by round(mean, 9), dimension) as next_weakest,
        lead(mean) over (partition by judge_id, method_id order by round(mean, 9), dimension) as next_mean
    from leaderboard_long
    where
        dimension <> 'overall'
        and is_in_overall(dimension)
        and judge_is_wanted(judge, judge_id)
        and version_is_wanted(is_current)
)

select
    placed.judge,
    placed.judge_id,
    placed.method,
    placed.dimension as weakest,
    placed.mean,
    placed.ci_low,
    placed.ci_high,
    placed.n_answers,
    placed.next_weakest,
    placed.next_mean,
    placed.dimension = 'artifact_trail' as as_the_study
from placed
left join leaderboard on placed.judge_id = leaderboard.judge_id and placed.method_id = leaderboard.method_id
left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
where placed.place = 1
order by placed.judge, placed.judge_id, fronts.line nulls last, placed.method
