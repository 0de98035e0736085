-- Upper end of the 95 % interval of a figure with mean, std_error and df, as `cluster_figures` gives it (Student's t).
-- NULL where no session differs from another, as in `ci_low`.
create macro ci_high(figure) as
figure.mean + t_quantile(0.975, figure.df) * nullif(figure.std_error, 0);
