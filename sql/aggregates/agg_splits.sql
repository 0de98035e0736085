-- One row per judge × method × split × value of the split × dimension (and 'overall').
--
-- Splits are task_type, length, probe_type, cycle, source (the format of the session's log), resolved and exit_status
-- (how the session ended, as its log says). The interval is clustered (`stg_clusters`, `cluster_figures`): answers of
-- one session depend on each other. With a single cluster there is no interval (NULL).
--
-- mean_for_rank is what overall_for_rank is in `agg_tie_groups`, within the part: of a method that is not applicable at
-- some points the mean, over the methods that apply everywhere, of their mean plus its paired difference to them on the
-- probes that both have, cut off at the ends of the scale. The controls count only where no other method does. Fewer
-- than five sessions in common say too little.
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

clusters_of_split as (
    select
        scored.judge_id,
        scored.method_id,
        scored.label,
        scored.dimension,
        sum(scored.score_sum) as score_sum,
        sum(scored.n_answers) as n_answers,
        count(*) as n_sessions
    from sessions_of_split as scored
    inner join stg_clusters on scored.session_id = stg_clusters.session_id
    group by scored.judge_id, scored.method_id, scored.label, scored.dimension, stg_clusters.cluster
),

figures as (
    select
        judge_id,
        method_id,
        label.split,
        label.value,
        dimension,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(score_sum), list(n_answers)) as scored
    from clusters_of_split
    group by judge_id, method_id, label.split, label.value, dimension
),

-- Partial methods and the others on the questions that both have.
own as materialized (
    select
        scored.judge_id,
        scored.method_id,
        scored.session_id,
        scored.probe_id,
        scored.dimension,
        any_value(scored.task_type) as task_type,
        any_value(scored.length) as length,
        any_value(scored.probe_type) as probe_type,
        any_value(scored.cycle) as cycle,
        avg(scored.score) as score
    from int_answer_scores as scored
    inner join int_partial_methods as partial_methods
        on scored.judge_id = partial_methods.judge_id and scored.method_id = partial_methods.method_id
    group by scored.judge_id, scored.method_id, scored.session_id, scored.probe_id, scored.dimension
),

others_scored as (
    select
        scored.judge_id,
        scored.method_id,
        scored.probe_id,
        scored.dimension,
        avg(scored.score) as score
    from int_answer_scores as scored
    inner join methods on scored.method_id = methods.method_id
    left join int_partial_methods as partial_methods
        on scored.judge_id = partial_methods.judge_id and scored.method_id = partial_methods.method_id
    where
        methods.is_current
        and partial_methods.method_id is null
        and scored.probe_id in (select own.probe_id from own)
    group by scored.judge_id, scored.method_id, scored.probe_id, scored.dimension
),

paired as (
    select
        own.judge_id,
        own.method_id,
        others_scored.method_id as other_id,
        own.session_id,
        own.dimension,
        own.score - others_scored.score as difference,
        unnest([
            { 'split': 'task_type', 'value': own.task_type },
            { 'split': 'length', 'value': own.length },
            { 'split': 'probe_type', 'value': own.probe_type },
            { 'split': 'cycle', 'value': cast(own.cycle as varchar) },
            { 'split': 'source', 'value': sessions.source_format },
            { 'split': 'resolved', 'value': yes_or_no(sessions.resolved) },
            { 'split': 'exit_status', 'value': coalesce(sessions.exit_status, 'unknown') }
        ]) as label
    from own
    inner join others_scored
        on
            own.judge_id = others_scored.judge_id
            and own.probe_id = others_scored.probe_id
            and own.dimension = others_scored.dimension
    inner join sessions on own.session_id = sessions.session_id
),

differences as (
    select
        judge_id,
        method_id,
        other_id,
        label.split,
        label.value,
        dimension,
        avg(difference) as difference,
        count(distinct session_id) as n_sessions
    from paired
    group by judge_id, method_id, other_id, label.split, label.value, dimension
),

by_difference as (
    select
        differences.judge_id,
        differences.method_id,
        differences.split,
        differences.value,
        differences.dimension,
        coalesce(
            avg(others.scored.mean + differences.difference) filter (where not stg_methods.is_control),
            avg(others.scored.mean + differences.difference)
        ) as mean
    from differences
    inner join stg_methods on differences.other_id = stg_methods.method_id
    inner join figures as others
        on
            differences.judge_id = others.judge_id
            and differences.other_id = others.method_id
            and differences.split = others.split
            and differences.value = others.value
            and differences.dimension = others.dimension
    where differences.n_sessions >= 5
    group by differences.judge_id, differences.method_id, differences.split, differences.value, differences.dimension
)

select
    figures.judge_id,
    judges.judge,
    stg_methods.method,
    figures.value,  -- Value of the split, as text
    figures.dimension,
    figures.scored.mean,  -- Mean over answers, 0 to 5
    figures.scored.std_error,  -- Standard error of the mean, clustered (CR2); NULL with a single cluster
    ci_low(figures.scored) as ci_low,  -- Lower end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 0
    ci_high(figures.scored) as ci_high,  -- Upper end of the 95 % interval (Student's t with df degrees of freedom); not
    -- cut off at 5
    figures.scored.n as n_answers,  -- Answers that the mean is over
    figures.n_sessions,  -- Sessions that these answers are of
    figures.method_id,
    figures.scored.df,  -- Degrees of freedom of the standard error: sessions - 1 when all are equally large, fewer when
    -- few hold most answers
    stg_methods.is_current,
    case
        when partial_methods.method_id is null then figures.scored.mean
        when by_difference.mean is not null then least(greatest(by_difference.mean, 0), 5)
    end as mean_for_rank,  -- Mean; of a method that is not applicable everywhere what its paired differences to the
    -- others come to, 0 to 5; NULL where these are of fewer than five sessions
    figures.scored.n_clusters,
    figures.split  -- task_type, length, probe_type, cycle, source, resolved or exit_status
from figures
inner join stg_methods on figures.method_id = stg_methods.method_id
left join int_partial_methods as partial_methods
    on figures.judge_id = partial_methods.judge_id and figures.method_id = partial_methods.method_id
left join by_difference
    on
        figures.judge_id = by_difference.judge_id
        and figures.method_id = by_difference.method_id
        and figures.split = by_difference.split
        and figures.value = by_difference.value
        and figures.dimension = by_difference.dimension
left join judges on figures.judge_id = judges.judge_id;
