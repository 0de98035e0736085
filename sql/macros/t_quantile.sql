-- Quantile of Student's t with df degrees of freedom (a whole number) at probability p; NULL for df below 1.
--
-- Exact for 1, 2 and 4 degrees (Shaw 2006, closed forms), to 5 digits for 3, to 4 digits from 5 on. The subqueries are
-- there to name intermediate values: a macro repeats the text of its arguments, which here takes ten times as long.
create or replace macro t_quantile(p, df) as (
    select
        case
            when df < 1 then null
            when df = 1 then tan(pi() * (p - 0.5))
            when df = 2 then (2 * p - 1) * sqrt(2 / (4 * p * (1 - p)))
            when df = 3 then t_newton_3(guess.t, p)
            when df = 4
                then sign(p - 0.5) * 2 * sqrt(cos(acos(sqrt(4 * p * (1 - p))) / 3) / sqrt(4 * p * (1 - p)) - 1)
            else guess.t
        end
    from (select t_expansion(normal.z, df) as t from (select normal_quantile(p) as z) as normal) as guess
);
