-- Smallest true difference that such data shows (95 %, not corrected) in 80 % of cases: of a difference with std_error
-- and df, as `cluster_figures` gives it. NULL where no session differs from another (std_error 0).
create macro detectable_difference(found) as
nullif(found.std_error, 0) * (t_quantile(0.975, found.df) + t_quantile(0.8, found.df));
