-- What `figures_of_sums` needs of the clusters of a group: `cluster_figures` in two passes of plain sums, for millions
-- of clusters. An aggregate: for GROUP BY.
--
-- t and n are a cluster's total and its count (NULL: not to be counted), total and whole their sums over the group, in
-- every row.
create or replace macro cluster_sums(t, n, total, whole) as {
    'total': any_value(total),
    'whole': cast(any_value(whole) as double),
    'squares': sum((t - total / whole * n) ** 2 / nullif(1 - n / whole, 0)),
    'p': sum((n / whole) ** 2),
    'q': sum((n / whole) ** 2 / nullif(1 - n / whole, 0)),
    'qq': sum(((n / whole) ** 2 / nullif(1 - n / whole, 0)) ** 2),
    'largest': max(abs(t)),
    'n_clusters': count(n)
};
