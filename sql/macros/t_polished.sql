-- One Newton step from t > 0 towards the value whose two-sided p-value under Student's t with df degrees of freedom is
-- the given one.
--
-- The step is taken on logarithms of both: the tail is close to a power of t, and exactly one for a single degree far
-- out, so that few steps do.
create or replace macro t_polished(t, two_sided, df) as list_transform(
    [{ 't': t, 'two_sided': two_sided, 'df': df, 'p': t_p_value(t, df) }],
    lambda step: step.t * exp(
        ln(step.p / step.two_sided) * step.p / (
            2 * step.t / sqrt(step.df * pi())
            * exp(
                lgamma((step.df + 1) / 2) - lgamma(step.df / 2)
                - (step.df + 1) / 2 * ln(1 + step.t ** 2 / step.df)
            )
        )
    )
)[1];
