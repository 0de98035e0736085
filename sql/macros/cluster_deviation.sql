-- What a cluster with total t and count n adds to the error of a group's mean (total / whole), bias-reduced (CR2): the
-- root of the sum of squares over the clusters is the standard error. 0 for a cluster that is all of the group.
create macro cluster_deviation(t, n, total, whole) as
coalesce((t - total / whole * n) / (whole * nullif(sqrt(1 - n / whole), 0)), 0);
