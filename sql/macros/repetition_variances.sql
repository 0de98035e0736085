-- One row per judge × dimension × method, and one of all methods (method_id NULL): how much the repetitions in a cell
-- differ (raw_judge, raw_answer, raw_compaction), and how much of each there is, of the cells of `agg_variance`.
--
-- Level by level: sum of squares, degrees of freedom, coefficients of the components.
create macro repetition_variances(cells) as table
    with within_sums as (
        select
            judge_id,
            dimension,
            method_id,
            sum(n_verdicts_made) as n_verdicts,
            sum(n_answers_made) as n_answers,
            sum(n_compactions_made) as n_compaction_questions,
            sum(n_answers) as n_independent_answers,
            bool_or(varies) as varies,
            count(*) as n_cells,
            count(distinct method_id) as n_methods,
            count(distinct session_id) as n_sessions,
            count(distinct probe_id) as n_questions,
            round(sum(ss_judge) / nullif(sum(n - n_answers), 0), 10) as raw_judge,
            sum(ss_answer) as ss_answer,
            sum(n_answers - n_compactions) as df_answer,
            sum(n - answers_in_compactions) as answer_in_ss_answer,
            sum(ss_compaction) as ss_compaction,
            sum(n_compactions) - count(*) as df_compaction,
            sum(answers_in_compactions - answers_in_cell) as answer_in_ss_compaction,
            sum(n - compactions_in_cell) as compaction_in_ss_compaction,
            avg(case when varies then compactions_in_cell / n else 0 end) as compaction_in_mean,
            avg(answers_in_cell / n) as answer_in_mean,
            avg(1 / n) as judge_in_mean
        from query_table(cells)
        group by grouping sets ((judge_id, dimension), (judge_id, dimension, method_id))
    ),

    of_answer as (
        select
            *,
            case
                when df_answer > 0
                    then round((ss_answer - df_answer * coalesce(raw_judge, 0)) / answer_in_ss_answer, 10)
            end as raw_answer
        from within_sums
    )

    select
        *,
        case
            when df_compaction > 0
                then
                    round(
                        (
                            ss_compaction
                            - df_compaction * coalesce(raw_judge, 0)
                            - answer_in_ss_compaction * coalesce(raw_answer, 0)
                        ) / compaction_in_ss_compaction, 10
                    )
            when not varies then 0
        end as raw_compaction
    from of_answer;
