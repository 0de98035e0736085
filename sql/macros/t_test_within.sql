-- p-value of a difference being as large as the margin, either way: two one-sided tests (Schuirmann 1987), of which the
-- larger p-value holds, that of the nearer end of the margin. Small where two methods are shown to be as good as each
-- other.
create macro t_test_within(difference, std_error, df) as
t_test_above(margin() - abs(difference), std_error, df);
