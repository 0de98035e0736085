-- One row per pair of raters × criterion, dimension or 'overall' that they have scored the same answers on.
--
-- What each figure is, and when it is none:
-- exact, within_one, kappa, alpha_ordinal and spearman are on whole points (half points go up: 3.5 is 4), the others on
-- the scores as they are. All come from the 6 × 6 table of whole points and from sums, in one pass over the pairs.
--   kappa           weighted by squared distance (Cohen 1968): 1 - mean (a - b)² / what independent raters would have
--   alpha_*         1 - observed / expected disagreement (Krippendorff 2011). The ordinal distance of two values is the
--                   difference of their mid-ranks among all scores of both raters, so ordinal alpha is interval alpha
--                   of mid-ranks
--   icc             ICC(A,1), two-way, absolute agreement, single rating (McGraw and Wong 1996)
-- Scores that do not vary cannot tell agreement from chance: such a figure is NULL, never 1, and undefined_because says
-- why. One rater that varies against one that does not has kappa 0, as the formula says, and no correlation.
create view judge_agreement as
with cells as materialized (
    select
        { 'kind': kind, 'rater_a': rater_a, 'rater_b': rater_b, 'level': level, 'item': item } as compared,
        session_id,
        replicate,
        round(score_a) as whole_a,
        round(score_b) as whole_b,
        count(*) as n,
        sum(score_a) as sum_a,
        sum(score_b) as sum_b,
        sum(score_a * score_a) as sum_aa,
        sum(score_b * score_b) as sum_bb,
        sum(score_a * score_b) as sum_ab,
        min(score_a) as min_a,
        max(score_a) as max_a,
        min(score_b) as min_b,
        max(score_b) as max_b
    from agg_rated_pairs
    group by kind, rater_a, rater_b, level, item, session_id, replicate, round(score_a), round(score_b)
),

-- A later repetition of a judge is another pair on the same answer: answers are counted on the repetition with most.
counted as (
    select
        compared,
        max(n_answers) as n_answers
    from (
        select
            compared,
            replicate,
            sum(n) as n_answers
        from cells
        group by compared, replicate
    ) as of_replicate
    group by compared
),

by_cluster as (
    select
        cells.compared,
        sum(cells.sum_b - cells.sum_a) as difference_sum,
        sum(cells.n) as n,
        count(distinct cells.session_id) as n_sessions
    from cells
    inner join stg_clusters on cells.session_id = stg_clusters.session_id
    group by cells.compared, stg_clusters.cluster
),

bias as (
    select
        compared,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(difference_sum), list(n)) as of_mean
    from by_cluster
    group by compared
),

moments as (
    select
        compared,
        sum(n) as n,
        sum(sum_a) / sum(n) as mean_a,
        sum(sum_b) / sum(n) as mean_b,
        greatest(0, sum(sum_aa) / sum(n) - (sum(sum_a) / sum(n)) ** 2) as var_a,
        greatest(0, sum(sum_bb) / sum(n) - (sum(sum_b) / sum(n)) ** 2) as var_b,
        sum(sum_ab) / sum(n) - sum(sum_a) / sum(n) * sum(sum_b) / sum(n) as covar,
        min(min_a) < max(max_a) as a_varies,
        min(min_b) < max(max_b) as b_varies,
        sum(n) filter (where whole_a = whole_b) / sum(n) as exact,
        sum(n) filter (where abs(whole_a - whole_b) <= 1) / sum(n) as within_one,
        min(whole_a) < max(whole_a) as whole_a_varies,
        min(whole_b) < max(whole_b) as whole_b_varies
    from cells
    group by compared
),

whole_points as (
    select * from whole_point_figures(cells)
),

-- Mean squares of the table answers × 2 raters; with fewer than 2 answers there are none.
gathered as (
    select
        moments.*,
        counted.n_answers,
        bias.of_mean,
        bias.n_sessions,
        whole_points.* exclude (compared),  -- noqa: RF02
        moments.n >= 2 and (moments.a_varies or moments.b_varies) as varies,
        moments.n >= 2 and (moments.whole_a_varies or moments.whole_b_varies) as whole_varies,
        moments.n / nullif(moments.n - 1, 0) * (moments.var_a + moments.var_b + 2 * moments.covar) / 2 as ms_answers,
        moments.n / nullif(moments.n - 1, 0) * (moments.var_a + moments.var_b - 2 * moments.covar) / 2 as ms_rest,
        moments.n * (moments.mean_a - moments.mean_b) ** 2 / 2 as ms_raters
    from moments
    inner join counted using (compared)
    inner join bias using (compared)
    inner join whole_points using (compared)
)

select
    gathered.compared.kind,  -- judges; judge and people; people (two persons); replicates (a judge with itself: its
    -- first verdict and later ones)
    gathered.compared.rater_a,  -- Judge version, name of a person, or people: the mean over all who labelled the answer
    gathered.compared.rater_b,  -- Judge version, or name of a person
    judge_a.judge as judge_a,  -- Name of the judge that rater_a is; NULL for people
    judge_b.judge as judge_b,  -- Name of the judge that rater_b is; NULL for people
    gathered.compared.level,
    gathered.compared.item,
    cast(gathered.n_answers as bigint) as n_answers,  -- Answers that both have scored
    gathered.n_sessions,  -- Sessions that these answers are of
    coalesce(gathered.exact, 0) as exact,  -- Share (0 to 1) of pairs with the same whole point
    coalesce(gathered.within_one, 0) as within_one,  -- Share (0 to 1) of pairs at most one whole point apart
    case
        when gathered.whole_varies
            then
                1
                - round(
                    gathered.whole_distance / (
                        gathered.whole_square_a
                        + gathered.whole_square_b
                        - 2 * gathered.whole_mean_a * gathered.whole_mean_b
                    ), 12
                )
    end as kappa,  -- Quadratic-weighted kappa on whole points (Cohen 1968): 1 agreement, 0 what chance gives; NULL
    -- where undefined
    case
        when gathered.whole_varies then 1 - gathered.rank_distance / gathered.expected_rank_distance
    end as alpha_ordinal,  -- Ordinal alpha on whole points (Krippendorff 2011); NULL where undefined
    case
        when gathered.varies
            then
                1
                - (gathered.var_a + gathered.var_b - 2 * gathered.covar + (gathered.mean_a - gathered.mean_b) ** 2)
                * (2 * gathered.n - 1)
                / (2 * gathered.n)
                / (gathered.var_a + gathered.var_b + (gathered.mean_a - gathered.mean_b) ** 2 / 2)
    end as alpha_interval,  -- Interval alpha (Krippendorff 2011); NULL where undefined
    case
        when gathered.varies
            then
                (gathered.ms_answers - gathered.ms_rest) / (
                    gathered.ms_answers
                    + gathered.ms_rest
                    + 2 * (gathered.ms_raters - gathered.ms_rest) / gathered.n
                )
    end as icc,  -- ICC(A,1): two-way, absolute agreement, single rating (McGraw and Wong 1996); NULL where undefined
    case
        when gathered.n >= 2 and gathered.a_varies and gathered.b_varies
            then gathered.covar / sqrt(gathered.var_a * gathered.var_b)
    end as pearson,  -- Correlation of the scores; NULL where one rater's do not vary
    case
        when gathered.n >= 2 and gathered.whole_a_varies and gathered.whole_b_varies
            then gathered.rank_product / sqrt(gathered.rank_spread_a * gathered.rank_spread_b)
    end as spearman,  -- Rank correlation on whole points, ties at their mid-rank; NULL where one rater's do not vary
    gathered.of_mean.mean as mean_difference,  -- Mean of b - a in points: the bias of b against a; of a judge against
    -- people where a is people
    gathered.of_mean.std_error,  -- Standard error of mean_difference, clustered; NULL with a single cluster
    ci_low(gathered.of_mean) as ci_low,  -- Lower end of the 95 % interval of mean_difference
    ci_high(gathered.of_mean) as ci_high,  -- Upper end of the 95 % interval of mean_difference
    gathered.mean_a,  -- Mean score of a, 0 to 5
    gathered.mean_b,  -- Mean score of b, 0 to 5
    gathered.share_a_at_0,  -- Share (0 to 1) of a's scores that round to 0
    gathered.share_b_at_0,  -- Share (0 to 1) of b's scores that round to 0
    gathered.share_a_at_5,  -- Share (0 to 1) of a's scores that round to 5
    gathered.share_b_at_5,  -- Share (0 to 1) of b's scores that round to 5
    gathered.chance_exact,  -- What exact would be if the two scored independently with these base rates, 0 to 1
    cast(gathered.n as bigint) as n_pairs,  -- Pairs of scores; more than n_answers where a judge was repeated more than
    -- once
    case
        when gathered.n < 2 then 'fewer than 2 answers: no figure but exact and within_one'
        when not gathered.varies
            then 'neither rater''s scores vary: agreement cannot be told from chance'
        when not gathered.whole_varies
            then 'scores vary by less than whole points: no kappa, alpha_ordinal, spearman'
        when not gathered.a_varies or not gathered.b_varies
            then
                'rater ' || case when gathered.a_varies then 'b' else 'a' end
                || ' gives every answer the same score: no correlations'
        when not gathered.whole_a_varies or not gathered.whole_b_varies
            then
                'rater ' || case when gathered.whole_a_varies then 'b' else 'a' end
                || ' varies by less than whole points: no spearman'
    end as undefined_because,  -- Why figures are NULL; NULL where all are defined
    gathered.of_mean.n_clusters
from gathered
left join judges as judge_a on gathered.compared.rater_a = judge_a.judge_id
left join judges as judge_b on gathered.compared.rater_b = judge_b.judge_id
order by
    gathered.compared.kind, gathered.compared.rater_a, gathered.compared.rater_b,
    case gathered.compared.level when 'overall' then 0 when 'dimension' then 1 else 2 end, gathered.compared.item;
