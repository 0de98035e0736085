-- The rows of a query with their p_value, and p_adjusted beside it: Holm's correction over the rows of a family.
create macro holm_adjusted(tested, family) as table
    with stepped as (
        select
            *,
            p_step(p_value, family) as step
        from query_table(tested)
    )

    select
        * exclude (step),
        holm(p_value, step, family) as p_adjusted
    from stepped;
