-- Nothing is done, failed or unscored more often than it is expected.
select
    'coverage' as view_name,
    null as judge_id,
    method,
    stage,
    expected,
    done + failed + unscored as n_found
from coverage
where done + failed + unscored > expected
union all
select
    'coverage_by_judge' as view_name,
    judge_id,
    method,
    'score' as stage,
    expected,
    done + unscored as n_found
from coverage_by_judge
where done + unscored > expected
