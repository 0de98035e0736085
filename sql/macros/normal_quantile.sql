-- Quantile of the standard normal distribution at probability p (0 < p < 1), to about 7 digits.
--
-- Algorithm AS 241, PPND7 (Wichura 1988), without its branch for p closer to 0 or 1 than 1e-10.
create or replace macro normal_quantile(p) as (
    select
        case
            when abs(q) <= 0.425
                then
                    q
                    * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179)
                    / (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1)
            else
                sign(q)
                * (((0.17023821103 * s + 1.3067284816) * s + 2.7568153900) * s + 1.4234372777)
                / ((0.12021132975 * s + 0.73700164250) * s + 1)
        end
    from (
        select
            p - 0.5 as q,
            0.180625 - (p - 0.5) ** 2 as r,
            sqrt(-ln(least(p, 1 - p))) - 1.6 as s
    ) as centred
);
