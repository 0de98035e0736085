-- One row per compared pair of raters on an item: figures of the 6 × 6 table of their scores in whole points, of rows
-- with compared, whole_a, whole_b and n, the pairs of scores.
create macro whole_point_figures(cells) as table
    with crossed as (
        select
            compared,
            whole_a,
            whole_b,
            sum(n) as n
        from query_table(cells)
        group by compared, whole_a, whole_b
    ),

    margins as (
        select
            compared,
            whole,
            sum(n_a) as n_a,
            sum(n_b) as n_b
        from (
            select
                compared,
                whole_a as whole,
                n as n_a,
                0 as n_b
            from crossed
            union all
            select
                compared,
                whole_b as whole,
                0 as n_a,
                n as n_b
            from crossed
        ) as each_side
        group by compared, whole
    ),

    -- Mid-ranks, counted from 0: how many scores lie below, and half of those at the value itself.
    ranked as (
        select
            compared,
            whole,
            n_a,
            n_b,
            sum(n_a) over below - n_a / 2 as rank_a,
            sum(n_b) over below - n_b / 2 as rank_b,
            sum(n_a + n_b) over below - (n_a + n_b) / 2 as rank_both,
            sum(n_a) over (partition by compared) as n
        from margins
        window below as (partition by compared order by whole)
    ),

    chance as (
        select
            compared,
            sum(n_a * n_b) / any_value(n) ** 2 as chance_exact,
            sum(whole * n_a) / any_value(n) as whole_mean_a,
            sum(whole * n_b) / any_value(n) as whole_mean_b,
            sum(whole ** 2 * n_a) / any_value(n) as whole_square_a,
            sum(whole ** 2 * n_b) / any_value(n) as whole_square_b,
            sum(n_a * (rank_a - n / 2) ** 2) as rank_spread_a,
            sum(n_b * (rank_b - n / 2) ** 2) as rank_spread_b,
            2 * sum((n_a + n_b) * (rank_both - n) ** 2) / (2 * any_value(n) - 1) as expected_rank_distance,
            coalesce(sum(n_a) filter (where whole = 0), 0) / any_value(n) as share_a_at_0,
            coalesce(sum(n_b) filter (where whole = 0), 0) / any_value(n) as share_b_at_0,
            coalesce(sum(n_a) filter (where whole = 5), 0) / any_value(n) as share_a_at_5,
            coalesce(sum(n_b) filter (where whole = 5), 0) / any_value(n) as share_b_at_5
        from ranked
        group by compared
    ),

    observed as (
        select
            crossed.compared,
            sum(crossed.n * (crossed.whole_a - crossed.whole_b) ** 2) / sum(crossed.n) as whole_distance,
            sum(crossed.n * (of_a.rank_both - of_b.rank_both) ** 2) / sum(crossed.n) as rank_distance,
            sum(crossed.n * (of_a.rank_a - of_a.n / 2) * (of_b.rank_b - of_b.n / 2)) as rank_product
        from crossed
        inner join ranked as of_a on crossed.compared = of_a.compared and crossed.whole_a = of_a.whole
        inner join ranked as of_b on crossed.compared = of_b.compared and crossed.whole_b = of_b.whole
        group by crossed.compared
    )

    select
        chance.*,
        observed.whole_distance,
        observed.rank_distance,
        observed.rank_product
    from chance
    inner join observed on chance.compared = observed.compared;
