-- One row per judge × dimension × method, and one of all methods (method_id NULL): the analysis of variance of sessions
-- against questions within sessions, within methods, of rows with a value for a method × question.
--
-- squares has the mean squares, how much of what a point's questions share is in each, and the questions of a session.
create macro mean_squares(cells) as table
    with of_points as (
        select
            judge_id,
            dimension,
            method_id,
            session_id,
            count(*) as n,
            avg(value) as mean,
            var_pop(value) * count(*) as ss_within
        from query_table(cells)
        where value is not null
        group by judge_id, dimension, method_id, session_id, point_id
    ),

    of_sessions as (
        select
            judge_id,
            dimension,
            method_id,
            sum(n) as n,
            sum(n ** 2) as n_square_points,
            sum(n * mean) / sum(n) as mean,
            sum(ss_within) + sum(n * mean ** 2) - sum(n * mean) ** 2 / sum(n) as ss_within
        from of_points
        group by judge_id, dimension, method_id, session_id
    ),

    of_methods as (
        select
            judge_id,
            dimension,
            method_id,
            sum(n) as n,
            count(*) as n_sessions,
            sum(n) - sum(n ** 2) / sum(n) as session_in_ss,
            sum(n - n_square_points / n) as shared_in_within,
            sum(n_square_points / n) - sum(n_square_points) / sum(n) as shared_in_between,
            sum(ss_within) as ss_within,
            sum(n * mean ** 2) - sum(n * mean) ** 2 / sum(n) as ss_between
        from of_sessions
        group by judge_id, dimension, method_id
    )

    select
        judge_id,
        dimension,
        method_id,
        {
            'within': case when sum(n - n_sessions) > 0 then sum(ss_within) / sum(n - n_sessions) end,
            'between': case when sum(n_sessions - 1) > 0 then sum(ss_between) / sum(n_sessions - 1) end,
            'shared_within': coalesce(sum(shared_in_within) / nullif(sum(n - n_sessions), 0), 0),
            'shared_between': sum(shared_in_between) / nullif(sum(n_sessions - 1), 0),
            'questions': sum(session_in_ss) / nullif(sum(n_sessions - 1), 0)
        } as squares
    from of_methods
    group by grouping sets ((judge_id, dimension), (judge_id, dimension, method_id));
