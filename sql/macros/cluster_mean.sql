-- Mean of values that come as sums: over groups of rows with a total and a number of values each.
create or replace macro cluster_mean(total, n) as sum(total) / sum(n);
