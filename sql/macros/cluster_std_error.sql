-- Standard error of cluster_mean when the values within a cluster depend on each other: one row per cluster, with the
-- total and the number of its values.
--
-- With residuals u = total - mean * n of G clusters: sqrt(G / (G - 1) * sum(u²)) / sum(n). That is the cluster-robust
-- ("sandwich") variance of a mean with the small-sample factor G / (G - 1) (Cameron and Miller 2015, section VI). The
-- residuals add up to 0, so their sum of squares is G times a variance, taken here from aggregates that do not cancel.
-- NULL for fewer than two clusters: one session says nothing of how sessions differ.
create or replace macro cluster_std_error(total, n) as
case
    when count(*) < 2 then null
    else
        sqrt(
            count(*) / (count(*) - 1) * count(*) * greatest(
                0,
                var_pop(total)
                - 2 * (sum(total) / sum(n)) * covar_pop(total, n)
                + (sum(total) / sum(n)) ** 2 * var_pop(n)
            )
        ) / sum(n)
end;
