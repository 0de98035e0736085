-- One row per judge × dimension × method, and one of all methods (method_id NULL): how much of a compaction's variance
-- its questions share, of the contexts and cells of `agg_variance`.
--
-- That is the variance of the mean over questions against that of single questions, at the points where every
-- compaction was asked the same questions.
create macro shared_variance(contexts, cells) as table
    with repeated_points as (
        select
            judge_id,
            dimension,
            method_id,
            point_id,
            count(*) as n_questions,
            sum(ss_compaction_means) as ss_questions,
            any_value(n_compactions) as n_compactions
        from query_table(cells)
        group by judge_id, dimension, method_id, point_id
        having count(*) > 1 and min(n_compactions) > 1 and min(n_compactions) = max(n_compactions)
    ),

    made as (
        select * from query_table(contexts)
    ),

    compaction_means as (
        select
            made.judge_id,
            made.dimension,
            made.method_id,
            made.point_id,
            any_value(repeated_points.n_questions) as n_questions,
            any_value(repeated_points.ss_questions) as ss_questions,
            any_value(repeated_points.n_compactions) as n_compactions,
            count(*) as n_asked,
            avg(made.mean) as mean
        from made
        inner join repeated_points using (judge_id, dimension, method_id, point_id)
        group by made.judge_id, made.dimension, made.method_id, made.point_id, made.context_id
    ),

    shared_by_point as (
        select
            judge_id,
            dimension,
            method_id,
            any_value(n_compactions) - 1 as df,
            (
                any_value(n_questions) * var_pop(mean) * count(*) - any_value(ss_questions) / any_value(n_questions)
            ) / (any_value(n_questions) - 1) as shared
        from compaction_means
        group by judge_id, dimension, method_id, point_id
        having count(*) = any_value(n_compactions) and min(n_asked) = any_value(n_questions)
    )

    select
        judge_id,
        dimension,
        method_id,
        round(sum(shared) / sum(df), 10) as raw_compaction_shared
    from shared_by_point
    group by grouping sets ((judge_id, dimension), (judge_id, dimension, method_id));
