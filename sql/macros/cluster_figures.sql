-- Mean of values that depend on each other within clusters, with its standard error and the degrees of freedom of the
-- latter: a struct of mean, std_error, df, n (values) and n_clusters.
--
-- Two lists with one entry per cluster (here: session): the totals t of its values and their counts n > 0, as in
-- cluster_figures(list(score_sum), list(n_answers)). With N = sum(n), p = n / N, m = sum(t) / N, u = t - m * n:
--   std_error = sqrt(sum(u² / (1 - p))) / N      bias-reduced (CR2) variance of a mean (Bell and McCaffrey 2002)
--   df = 1 / (sum(p²) + sum(q)² - sum(q²)) with q = p² / (1 - p)       their Satterthwaite degrees of freedom
-- Both are the textbook ones, with G / (G - 1) and G - 1, when all G counts are equal; where few clusters hold most of
-- the values, df says so. std_error and df are NULL for a single cluster: one session says nothing of how sessions
-- differ. A standard error that is rounding and nothing else is 0. An empty list gives NULL for everything.
--
-- The lambdas over the clusters use nothing but numbers from outside, as a list would be copied for every cluster.
create or replace macro cluster_figures(totals, counts) as list_transform(
    [{ 'totals': cast(totals as double[]), 'counts': cast(counts as double[]) }],
    lambda given: list_transform(
        [list_sum(given.counts)],
        lambda whole: list_transform(
            [list_sum(given.totals) / whole],
            lambda mean: list_transform(
                [{
                    'error': sqrt(
                        list_sum(
                            list_transform(
                                list_zip(given.totals, given.counts),
                                lambda pair: (pair[1] - mean * pair[2]) ** 2 / (1 - pair[2] / whole)
                            )
                        )
                    ) / whole,
                    'q': list_transform(given.counts, lambda n: (n / whole) ** 2 / (1 - n / whole)),
                    'size': greatest(list_max(given.totals), -list_min(given.totals)) / whole * len(given.totals)
                }],
                lambda spread: {
                    'mean': mean,
                    'std_error': case
                        when len(given.counts) < 2 then cast(null as double)
                        when spread.error <= greatest(1e-10, 1e-12 * spread.size) then 0.0
                        else spread.error
                    end,
                    'df': case
                        when len(given.counts) >= 2
                            then greatest(
                                1.0,
                                1 / (
                                    list_dot_product(given.counts, given.counts) / whole ** 2
                                    + list_sum(spread.q) ** 2
                                    - list_dot_product(spread.q, spread.q)
                                )
                            )
                    end,
                    'n': cast(whole as bigint),
                    'n_clusters': len(given.counts)
                }
            )[1]
        )[1]
    )[1]
)[1];
