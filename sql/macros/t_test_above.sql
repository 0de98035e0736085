-- One-sided p-value of a value being 0 or less, given its standard error and the degrees of freedom: small where it is
-- shown to be above 0. NULL without an error.
create macro t_test_above(value, std_error, df) as
case when value > 0 then 0.5 * t_test(value, std_error, df) else 1 - 0.5 * t_test(value, std_error, df) end;
