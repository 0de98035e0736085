-- Upper end of the 95 % interval of a figure with mean, std_error and df, as `cluster_figures` gives it (Student's t).
create macro ci_high(figure) as
figure.mean + t_quantile(0.975, figure.df) * figure.std_error;
