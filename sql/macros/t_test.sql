-- Two-sided p-value of a difference from 0, given its standard error and the degrees of freedom; NULL without an error.
--
-- Without any variance (error 0) it is 0 for a difference of more than 1e-9, which every cluster shows alike, and 1 for
-- none.
create or replace macro t_test(difference, std_error, df) as list_transform(
    [{ 'd': cast(difference as double), 'error': cast(std_error as double), 'df': cast(df as double) }],
    lambda given: case
        when given.error > 0 then t_p_value(given.d / given.error, given.df)
        when given.error = 0 and abs(given.d) > 1e-9 then 0.0
        when given.error = 0 and abs(given.d) <= 1e-9 then 1.0
    end
)[1];
