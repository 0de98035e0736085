-- Quantile of the standard normal distribution at probability p (0 < p < 1), to about 7 digits.
--
-- Algorithm AS 241, PPND7 (Wichura 1988), without its branch for p closer to 0 or 1 than 1e-10.
create or replace macro normal_quantile(p) as list_transform(
    [cast(p as double)],
    lambda level: case
        when abs(level - 0.5) <= 0.425
            then list_transform(
                [{ 'q': level - 0.5, 'r': 0.180625 - (level - 0.5) ** 2 }],
                lambda centred: centred.q
                * (((59.109374720 * centred.r + 159.29113202) * centred.r + 50.434271938) * centred.r + 3.3871327179)
                / (((67.187563600 * centred.r + 78.757757664) * centred.r + 17.895169469) * centred.r + 1)
            )[1]
        else list_transform(
            [sqrt(-ln(least(level, 1 - level))) - 1.6],
            lambda s: sign(level - 0.5)
            * (((0.17023821103 * s + 1.3067284816) * s + 2.7568153900) * s + 1.4234372777)
            / ((0.12021132975 * s + 0.73700164250) * s + 1)
        )[1]
    end
)[1];
