-- One row per method × stage: what was expected, and what became of it; scores are those of the judge.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    method,
    stage,
    expected,
    done,
    failed,
    unscored,
    missing,
    not_applicable
from coverage
where stage <> 'score'
union all
select
    method,
    'score' as stage,
    expected,
    done,
    0 as failed,
    unscored,
    missing,
    0 as not_applicable
from coverage_by_judge
where judge_id = getvariable('judge_id')
order by method, stage
