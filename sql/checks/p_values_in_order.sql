-- A p-value lies within 0 to 1, correction does not lower it, and a single cluster has none.
select
    judge_id,
    dimension,
    method_a,
    method_b,
    p_value,
    p_adjusted_in_dimension,
    p_adjusted,
    n_clusters
from paired_differences
where
    p_value not between 0 and 1
    or p_adjusted not between p_value and 1
    or p_adjusted_in_dimension not between p_value and p_adjusted
    or (n_clusters > 1) <> (p_value is not null and p_adjusted is not null and p_adjusted_in_dimension is not null)
