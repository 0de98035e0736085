-- One row per dimension (and 'overall') × pair of methods with questions in common: the paired difference.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    dimension,
    method_a,
    method_b,
    difference,
    ci_low,
    ci_high,
    p_adjusted_in_dimension,
    p_adjusted,
    n_pairs,
    n_sessions,
    detectable_difference
from paired_differences
where judge_id = getvariable('judge_id') and is_current
order by dimension, method_a, method_b
