-- One row per judge × method × split × value of the split × dimension (and 'overall').
--
-- Splits are task_type, length, probe_type, cycle, source (the format of the session's log), resolved and exit_status
-- (how the session ended, as its log says). The interval is clustered by session (`cluster_figures`): answers of one
-- session depend on each other. With a single session there is no interval (NULL).
create view agg_splits as
with session_scores as (
    select
        judge_id,
        method_id,
        session_id,
        dimension,
        any_value(task_type) as task_type,
        any_value(length) as length,
        sum(score) as score_sum,
        count(*) as n_answers
    from int_answer_scores
    group by judge_id, method_id, session_id, dimension
),

sessions_of_split as (
    select
        scored.judge_id,
        scored.method_id,
        scored.session_id,
        scored.dimension,
        scored.score_sum,
        scored.n_answers,
        unnest([
            { 'split': 'task_type', 'value': scored.task_type },
            { 'split': 'length', 'value': scored.length },
            { 'split': 'source', 'value': sessions.source_format },
            { 'split': 'resolved', 'value': yes_or_no(sessions.resolved) },
            { 'split': 'exit_status', 'value': coalesce(sessions.exit_status, 'unknown') }
        ]) as label
    from session_scores as scored
    inner join sessions on scored.session_id = sessions.session_id
    union all
    select
        judge_id,
        method_id,
        session_id,
        dimension,
        sum(score) as score_sum,
        count(*) as n_answers,
        case
            when grouping(cycle) = 1 then { 'split': 'probe_type', 'value': probe_type }
            else { 'split': 'cycle', 'value': cast(cycle as varchar) }
        end as label
    from int_answer_scores
    group by
        judge_id, method_id, session_id, dimension, grouping sets (probe_type, cycle)
),

figures as (
    select
        judge_id,
        method_id,
        label.split,
        label.value,
        dimension,
        cluster_figures(list(score_sum), list(n_answers)) as scored
    from sessions_of_split
    group by judge_id, method_id, label.split, label.value, dimension
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.value,  -- Value of the split, as text
    figures.dimension,
    figures.scored.mean,  -- Mean over answers, 0 to 5
    figures.scored.std_error,  -- Standard error of the mean, clustered by session (CR2); NULL with a single session
    ci_low(figures.scored) as ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 0
    ci_high(figures.scored) as ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 5
    figures.scored.n as n_answers,  -- Answers that the mean is over
    figures.scored.n_clusters as n_sessions,  -- Sessions that these answers are of
    figures.method_id,
    figures.scored.df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when
    -- few hold most answers
    stg_methods.is_current,
    figures.split  -- task_type, length, probe_type, cycle, source, resolved or exit_status
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id;
