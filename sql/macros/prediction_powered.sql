-- One row per judge × dimension × method × rectifier: the judge's mean corrected by labels, with its error.
--
-- It takes rows with the sums of a cluster's answers (n_answers, score_sum) or labels (weight_sum, rest_sum), and works
-- as `leaderboard_corrected` says. A figure has mean, std_error and df, as `cluster_figures` gives it.
create macro prediction_powered(pieces) as table
    with per_cluster as (
        select
            judge_id,
            dimension,
            method_id,
            rectifier_of,
            cluster,
            max(judge_weight) as judge_weight,
            sum(n_answers) as n_answers,
            sum(score_sum) as score_sum,
            sum(weight_sum) as weight_sum,
            sum(rest_sum) as rest_sum
        from query_table(pieces)
        group by judge_id, dimension, method_id, rectifier_of, cluster
    ),

    totals as (
        select
            *,
            n_answers / sum(n_answers) over whole as score_share,
            weight_sum / sum(weight_sum) over whole as label_share,
            sum(score_sum) over whole / sum(n_answers) over whole as score_mean,
            sum(rest_sum) over whole / sum(weight_sum) over whole as rest_mean,
            judge_weight * cluster_deviation(
                score_sum, n_answers, sum(score_sum) over whole, sum(n_answers) over whole
            ) as score_residual,
            cluster_deviation(
                rest_sum, weight_sum, sum(rest_sum) over whole, sum(weight_sum) over whole
            ) as label_residual
        from per_cluster
        window whole as (partition by judge_id, dimension, method_id, rectifier_of)
    ),

    mixed as (
        select
            *,
            (score_share * sum(score_residual ** 2) over whole + label_share * sum(label_residual ** 2) over whole)
            / nullif(sum(score_residual ** 2 + label_residual ** 2) over whole, 0) as share
        from totals
        window whole as (partition by judge_id, dimension, method_id, rectifier_of)
    )

    select
        judge_id,
        dimension,
        method_id,
        rectifier_of,
        max(judge_weight) as judge_weight,
        max(judge_weight * score_mean + rest_mean - score_mean) as rectifier,
        {
            'mean': max(judge_weight * score_mean + rest_mean),
            'std_error': case
                when sqrt(sum((score_residual + label_residual) ** 2)) > 1e-10  -- what is left of nothing is rounding
                    then sqrt(sum((score_residual + label_residual) ** 2))
                else 0.0
            end,
            'df': greatest(
                1.0,
                1 / (
                    sum(share ** 2)
                    + sum(share ** 2 / (1 - share)) ** 2
                    - sum((share ** 2 / (1 - share)) ** 2)
                )
            )
        } as figure
    from mixed
    group by judge_id, dimension, method_id, rectifier_of;
