-- Quantile of Student's t from the normal quantile z of the same probability: the Cornish-Fisher expansion (Abramowitz
-- and Stegun 1964, 26.7.5). To 4 digits for df from 5 on at probabilities from 0.005 to 0.995; below, and farther out,
-- a place to start from.
create or replace macro t_expansion(z, df) as list_transform(
    [{ 'z': z, 'df': df }],
    lambda x: x.z
    + (x.z ** 3 + x.z) / (4 * x.df)
    + (5 * x.z ** 5 + 16 * x.z ** 3 + 3 * x.z) / (96 * x.df ** 2)
    + (3 * x.z ** 7 + 19 * x.z ** 5 + 17 * x.z ** 3 - 15 * x.z) / (384 * x.df ** 3)
    + greatest(0, 79 * x.z ** 9 + 776 * x.z ** 7 + 1482 * x.z ** 5 - 1920 * x.z ** 3 - 945 * x.z)
    / (92160 * x.df ** 4)
)[1];
