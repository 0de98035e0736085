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
    agg_expected_scores.n_expected as expected,
    agg_expected_scores.n_done as done,
    agg_expected_scores.n_unscored as unscored,
    greatest(
        0, agg_expected_scores.n_expected - agg_expected_scores.n_done - agg_expected_scores.n_unscored
    ) as missing,
    agg_expected_scores.method_id
from agg_expected_scores
inner join judges on agg_expected_scores.judge_id = judges.judge_id
inner join stg_methods on agg_expected_scores.method_id = stg_methods.method_id
order by judges.judge, agg_expected_scores.judge_id, stg_methods.method;

comment on column coverage_by_judge.judge_id is 'Judge version';
comment on column coverage_by_judge.judge is 'embedded (no language model) or the spec of a model';
comment on column coverage_by_judge.method is 'Name of the method';
comment on column coverage_by_judge.expected is 'Verdicts that the done answers of the method call for';
comment on column coverage_by_judge.done is 'Verdicts with at least one score';
comment on column coverage_by_judge.unscored is 'Verdicts without any score';
comment on column coverage_by_judge.missing is 'Verdicts of which there is no trace';
comment on column coverage_by_judge.method_id is 'Identity of the method';
