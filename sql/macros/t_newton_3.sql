-- One Newton step from t towards the quantile of Student's t with 3 degrees of freedom at probability p: with so few
-- degrees the expansion is off by one part in a thousand, and the distribution function is known in closed form.
create or replace macro t_newton_3(t, p) as
t - (
    0.5 + (t / sqrt(3) / (1 + t ** 2 / 3) + atan(t / sqrt(3))) / pi() - p
) * pi() * (3 + t ** 2) ** 2 / (6 * sqrt(3));
