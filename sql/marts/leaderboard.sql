-- One row per judge × method that the judge was given answers of.
--
-- Which questions: each method's figures are means over its own scored answers, so that what failed is left out and
-- counts neither as 0 nor against the other methods. The methods' questions can then differ: n_answers and the check
-- `same_questions_scored` show it, `coverage` says where they were lost, and overall_on_shared_probes is the figure on
-- the questions that every method has a score for.
--
-- overall and overall_of_dimensions differ because not every probe type asks every dimension: the first weighs each
-- answer alike, the second each dimension.
--
-- tie_group: go down the methods by overall (equal ones by name). The first opens group 1. The next joins the open
-- group unless its paired difference of overall to that group's first method is distinguishable from 0 at 95 % (same
-- probes, clustered by session, Student's t), in which case it opens the next group. With a single session, or without
-- a probe in common, nothing is distinguishable. The level holds for each comparison, not for all of them together.
create view leaderboard as
with recursive figures as (
    select
        judge_id,
        method_id,
        dimension,
        cluster_mean(score_sum, n_answers) as mean,
        cast(sum(n_answers) as bigint) as n_answers,
        count(*) as n_sessions
    from agg_session_scores
    group by judge_id, method_id, dimension
),

wide as (
    select
        judge_id,
        method_id,
        max(mean) filter (where dimension = 'overall') as overall,
        avg(mean) filter (where dimension <> 'overall') as overall_of_dimensions,
        max(mean) filter (where dimension = 'accuracy') as accuracy,
        max(mean) filter (where dimension = 'context_awareness') as context_awareness,
        max(mean) filter (where dimension = 'artifact_trail') as artifact_trail,
        max(mean) filter (where dimension = 'completeness') as completeness,
        max(mean) filter (where dimension = 'continuity') as continuity,
        max(mean) filter (where dimension = 'instruction_following') as instruction_following,
        max(n_answers) filter (where dimension = 'overall') as n_answers,
        max(n_sessions) filter (where dimension = 'overall') as n_sessions
    from figures
    group by judge_id, method_id
),

judged as (
    select
        judge_id,
        method_id,
        count(*) filter (where not is_scored) as n_unscored,
        cast(sum(n_unscored_criteria) as bigint) as n_unscored_criteria
    from int_judged_answers
    group by judge_id, method_id
),

-- Rounded, so that the order of summation never decides between methods that are equal.
placed as materialized (
    select
        wide.judge_id,
        wide.method_id,
        rank() over (partition by wide.judge_id order by round(wide.overall, 9) desc) as rank,
        row_number() over (
            partition by wide.judge_id order by round(wide.overall, 9) desc, stg_methods.method asc, wide.method_id asc
        ) as place
    from wide
    inner join stg_methods on wide.method_id = stg_methods.method_id
),

pairs as materialized (
    select
        agg_method_pairs.judge_id,
        least(a.place, b.place) as first_place,
        greatest(a.place, b.place) as place,
        coalesce(
            abs(agg_method_pairs.difference)
            > t_quantile(0.975, agg_method_pairs.n_sessions - 1) * agg_method_pairs.std_error + 1e-9,
            false
        ) as is_distinguishable
    from agg_method_pairs
    inner join placed as a
        on agg_method_pairs.judge_id = a.judge_id and agg_method_pairs.method_id_a = a.method_id
    inner join placed as b
        on agg_method_pairs.judge_id = b.judge_id and agg_method_pairs.method_id_b = b.method_id
    where agg_method_pairs.dimension = 'overall'
),

walk as (
    select
        judge_id,
        place,
        place as first_place,
        1 as tie_group
    from placed
    where place = 1
    union all
    select
        walk.judge_id,
        placed.place,
        case when coalesce(pairs.is_distinguishable, false) then placed.place else walk.first_place end as first_place,
        walk.tie_group + cast(coalesce(pairs.is_distinguishable, false) as integer) as tie_group
    from walk
    inner join placed on walk.judge_id = placed.judge_id and walk.place + 1 = placed.place
    left join pairs
        on walk.judge_id = pairs.judge_id and walk.first_place = pairs.first_place and placed.place = pairs.place
)

select
    judged.judge_id,
    judges.judge,
    stg_methods.method,
    wide.overall,
    wide.overall_of_dimensions,
    wide.accuracy,
    wide.context_awareness,
    wide.artifact_trail,
    wide.completeness,
    wide.continuity,
    wide.instruction_following,
    coalesce(wide.n_answers, 0) as n_answers,
    coalesce(wide.n_sessions, 0) as n_sessions,
    judged.n_unscored,
    1 - agg_compactions.tokens_after / nullif(agg_compactions.tokens_before, 0) as tokens_removed,
    placed.rank,
    walk.tie_group,
    agg_shared_probes.overall_on_shared_probes,
    coalesce(agg_shared_probes.n_shared_probes, 0) as n_shared_probes,
    judged.n_unscored_criteria,
    judged.method_id
from judged
inner join stg_methods on judged.method_id = stg_methods.method_id
left join judges on judged.judge_id = judges.judge_id
left join wide on judged.judge_id = wide.judge_id and judged.method_id = wide.method_id
left join placed on judged.judge_id = placed.judge_id and judged.method_id = placed.method_id
left join walk on placed.judge_id = walk.judge_id and placed.place = walk.place
left join agg_compactions on judged.method_id = agg_compactions.method_id
left join agg_shared_probes
    on judged.judge_id = agg_shared_probes.judge_id and judged.method_id = agg_shared_probes.method_id
order by judges.judge, judged.judge_id, placed.place nulls last, stg_methods.method;

comment on column leaderboard.judge_id is 'Judge version';
comment on column leaderboard.judge is 'embedded (no language model) or the spec of a model';
comment on column leaderboard.method is 'Name of the method';
comment on column leaderboard.overall is 'Mean over answers of the per-answer overall, 0 to 5';
comment on column leaderboard.overall_of_dimensions is 'Unweighted mean of the dimension means, 0 to 5';
comment on column leaderboard.accuracy is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.context_awareness is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.artifact_trail is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.completeness is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.continuity is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.instruction_following is 'Mean over the answers that have the dimension, 0 to 5';
comment on column leaderboard.n_answers is 'Answers with at least one score';
comment on column leaderboard.n_sessions is 'Sessions that these answers are of';
comment on column leaderboard.n_unscored is 'Answers that the judge was given and has no score for';
comment on column leaderboard.tokens_removed is
'Share of tokens (0 to 1) that the method removed over its done compactions; below 0 when contexts grew';
comment on column leaderboard.rank is 'By overall within the judge; equal methods share a rank';
comment on column leaderboard.tie_group is
'Methods that cannot be told apart from the first of their group at 95 % share its number';
comment on column leaderboard.overall_on_shared_probes is
'Mean over the probes that every method of the judge has a score for, 0 to 5';
comment on column leaderboard.n_shared_probes is 'Probes that every method of the judge has a score for';
comment on column leaderboard.n_unscored_criteria is 'Single criteria without a score, those of n_unscored included';
comment on column leaderboard.method_id is 'Identity of the method';
