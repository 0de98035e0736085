-- One-sided p-value of a value being 0 or less, given its standard error and the degrees of freedom: small where it is
-- shown to be above 0. NULL without an error, and where no session differs from another (error 0): two methods that did
-- the same in a few sessions are not shown to be as good.
create macro t_test_above(value, std_error, df) as case
    when value > 0 then 0.5 * t_test(value, nullif(std_error, 0), df)
    else 1 - 0.5 * t_test(value, nullif(std_error, 0), df)
end;
