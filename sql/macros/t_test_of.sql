-- Two-sided p-value of a difference from 0 with mean, std_error and df, as `cluster_figures` gives it (`t_test`).
create macro t_test_of(difference) as
t_test(difference.mean, difference.std_error, difference.df);
