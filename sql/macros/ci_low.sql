-- Lower end of the 95 % interval of a figure with mean, std_error and df, as `cluster_figures` gives it (Student's t).
-- NULL where no session differs from another (std_error 0): how sessions differ is then unknown.
create macro ci_low(figure) as
figure.mean - t_quantile(0.975, figure.df) * nullif(figure.std_error, 0);
