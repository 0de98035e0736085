-- Mean, std_error, df, n and n_clusters, as `cluster_figures` gives them, of the sums that `cluster_sums` has taken.
create or replace macro figures_of_sums(sums) as list_transform(
    [sums],
    lambda s: {
        'mean': s.total / s.whole,
        'std_error': case
            when s.n_clusters < 2 then cast(null as double)
            when sqrt(s.squares) / s.whole <= greatest(1e-10, 1e-12 * s.largest / s.whole * s.n_clusters) then 0.0
            else sqrt(s.squares) / s.whole
        end,
        'df': case when s.n_clusters >= 2 then greatest(1.0, 1 / (s.p + s.q ** 2 - s.qq)) end,
        'n': cast(s.whole as bigint),
        'n_clusters': s.n_clusters
    }
)[1];
