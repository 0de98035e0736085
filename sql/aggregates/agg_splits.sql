-- One row per judge × method × split × value of the split × dimension (and 'overall').
--
-- Splits are task_type, length, probe_type, cycle and source (the format of the session's log). The interval is
-- clustered by session (`cluster_figures`): answers of one session depend on each other. With a single session there is
-- no interval (NULL).
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
            { 'split': 'source', 'value': sessions.source_format }
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
        { 'split': 'probe_type', 'value': probe_type } as label
    from int_answer_scores
    group by judge_id, method_id, session_id, dimension, probe_type
    union all
    select
        judge_id,
        method_id,
        session_id,
        dimension,
        sum(score) as score_sum,
        count(*) as n_answers,
        { 'split': 'cycle', 'value': cast(cycle as varchar) } as label
    from int_answer_scores
    group by judge_id, method_id, session_id, dimension, cycle
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
    figures.value,
    figures.dimension,
    figures.scored.mean,
    figures.scored.std_error,
    figures.scored.mean - t_quantile(0.975, figures.scored.df) * figures.scored.std_error as ci_low,
    figures.scored.mean + t_quantile(0.975, figures.scored.df) * figures.scored.std_error as ci_high,
    figures.scored.n as n_answers,
    figures.scored.n_clusters as n_sessions,
    figures.method_id,
    figures.scored.df,
    stg_methods.is_current,
    figures.split
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join judges on figures.judge_id = judges.judge_id;

comment on column agg_splits.judge_id is 'Judge version';
comment on column agg_splits.method_id is 'Identity of the method';
comment on column agg_splits.split is 'task_type, length, probe_type, cycle or source';
comment on column agg_splits.value is 'Value of the split, as text';
comment on column agg_splits.dimension is 'Dimension of the rubric, or overall';
comment on column agg_splits.mean is 'Mean over answers, 0 to 5';
comment on column agg_splits.std_error is
'Standard error of the mean, clustered by session (CR2); NULL with a single session';
comment on column agg_splits.df is 'Degrees of freedom of the standard error';
comment on column agg_splits.ci_low is 'Lower end of the 95 % interval (Student''s t with df degrees of freedom)';
comment on column agg_splits.ci_high is 'Upper end of the 95 % interval (Student''s t with df degrees of freedom)';
comment on column agg_splits.n_answers is 'Answers that the mean is over';
comment on column agg_splits.n_sessions is 'Sessions that these answers are of';
comment on column agg_splits.judge is 'embedded (no language model) or the spec of a model';
comment on column agg_splits.method is 'Name of the method';
comment on column agg_splits.is_current is 'Whether the newest run of the study asks for the method';
