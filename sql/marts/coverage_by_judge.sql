-- One row per judge × method with a done answer: verdicts expected and given.
--
-- A verdict is all criteria of one answer by one replicate of the judge. A backfill that was narrowed to some methods
-- or answers shows as missing.
--
-- Of current methods only: those that the newest run of the study asks for.
create view coverage_by_judge as
select
    agg_expected_scores.judge_id,
    judges.judge,
    stg_methods.method,
    agg_expected_scores.n_expected as expected,  -- Verdicts that the done answers of the method call for
    agg_expected_scores.n_done as done,  -- Verdicts with at least one score
    agg_expected_scores.n_unscored as unscored,  -- Verdicts without any score
    greatest(
        0, agg_expected_scores.n_expected - agg_expected_scores.n_done - agg_expected_scores.n_unscored
    ) as missing,  -- Verdicts of which there is no trace
    agg_expected_scores.method_id
from agg_expected_scores
inner join judges on agg_expected_scores.judge_id = judges.judge_id
inner join stg_methods on agg_expected_scores.method_id = stg_methods.method_id
order by judges.judge, agg_expected_scores.judge_id, stg_methods.method;
