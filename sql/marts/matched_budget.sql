-- One row per judge × method with a score: the method against plain recency at the same number of tokens.
--
-- The question: is it better than just keeping the most recent messages that fit into what it kept? Recency is run
-- as ordinary methods of several sizes (`--strategies @defaults,@recency-ladder`): `empty` and `recency(…)`, and
-- `none` at the top. At each question the two steps of this ladder are taken whose tokens are next to the method's
-- (context and what it fetched for the question), and recency's score there lies on the straight line between
-- theirs. The difference is the mean over questions, its interval clustered; p_adjusted is Holm's over
-- the methods of the judge.
--
-- What that rests on. A point of the line is the expected score of recency that takes the upper step with the
-- chance that makes its expected tokens the method's: nothing is assumed of what recency would do between the
-- steps. Recency of just that size may do better than the line, so that a wide gap between steps flatters the
-- method: run more steps where it matters. Steps are of the same history (prefix or chain), the same questions and
-- the same judge, and count with the tokens that they really left.
--
-- Outside of the ladder nothing is compared: a question is left out, and counted in n_outside, when the method has
-- fewer tokens there than the lowest step, or more than the highest. Where the highest is `none`, which has
-- everything, more tokens (a context that grew) are compared with it.
--
-- Of current methods only: those that the newest run of the study asks for.
create view matched_budget as
with scored as materialized (
    select
        agg_probe_budgets.judge_id,
        agg_probe_budgets.method_id,
        agg_probe_budgets.probe_id,
        agg_probe_budgets.session_id,
        agg_probe_budgets.score,
        agg_probe_budgets.tokens_read,
        stg_methods.method,
        stg_methods.strategy,
        stg_methods.history
    from agg_probe_budgets
    inner join stg_methods on agg_probe_budgets.method_id = stg_methods.method_id
),

ladders as (
    select
        judge_id,
        history
    from scored
    where strategy = 'recency'
    group by judge_id, history
),

steps as (
    select
        scored.judge_id,
        scored.history,
        scored.probe_id,
        scored.tokens_read,
        avg(scored.score) as score,
        bool_or(scored.strategy = 'none') as is_everything
    from scored
    inner join ladders on scored.judge_id = ladders.judge_id and scored.history = ladders.history
    where scored.strategy in ('empty', 'recency', 'none')
    group by scored.judge_id, scored.history, scored.probe_id, scored.tokens_read
),

methods_of_judge as (
    select
        scored.judge_id,
        scored.method_id,
        any_value(scored.method) as method,
        bool_or(scored.strategy in ('empty', 'recency', 'none')) as is_step,
        bool_or(ladders.judge_id is not null) as has_ladder,
        count(*) as n_probes
    from scored
    left join ladders on scored.judge_id = ladders.judge_id and scored.history = ladders.history
    group by scored.judge_id, scored.method_id
),

neighbours as (
    select
        scored.judge_id,
        scored.method_id,
        scored.session_id,
        scored.probe_id,
        any_value(scored.score) as score,
        any_value(scored.tokens_read) as tokens_read,
        max(steps.tokens_read) filter (where steps.tokens_read <= scored.tokens_read) as tokens_below,
        arg_max(steps.score, steps.tokens_read) filter (where steps.tokens_read <= scored.tokens_read) as score_below,
        min(steps.tokens_read) filter (where steps.tokens_read >= scored.tokens_read) as tokens_above,
        arg_min(steps.score, steps.tokens_read) filter (where steps.tokens_read >= scored.tokens_read) as score_above,
        max(steps.score) filter (where steps.is_everything) as score_of_everything
    from scored
    inner join steps using (judge_id, history, probe_id)
    where scored.strategy not in ('empty', 'recency', 'none')
    group by scored.judge_id, scored.method_id, scored.session_id, scored.probe_id
),

matched as (
    select
        judge_id,
        method_id,
        session_id,
        score,
        tokens_read,
        case
            when tokens_above > tokens_below
                then
                    score_below
                    + (score_above - score_below) * (tokens_read - tokens_below) / (tokens_above - tokens_below)
            when tokens_above is not null then case when tokens_below is not null then score_below end
            else score_of_everything
        end as recency_score
    from neighbours
),

by_cluster as (
    select
        matched.judge_id,
        matched.method_id,
        sum(matched.score) as score_sum,
        sum(matched.recency_score) as recency_sum,
        sum(matched.tokens_read) as tokens_sum,
        count(*) as n_probes,
        count(distinct matched.session_id) as n_sessions
    from matched
    inner join stg_clusters on matched.session_id = stg_clusters.session_id
    where matched.recency_score is not null
    group by matched.judge_id, matched.method_id, stg_clusters.cluster
),

figures as (
    select
        judge_id,
        method_id,
        sum(score_sum) / sum(n_probes) as overall,
        sum(recency_sum) / sum(n_probes) as recency_overall,
        sum(tokens_sum) / sum(n_probes) as tokens_read,
        cast(sum(n_sessions) as bigint) as n_sessions,
        cluster_figures(list(score_sum - recency_sum), list(n_probes)) as difference
    from by_cluster
    group by judge_id, method_id
),

tested as (
    select
        *,
        t_test_of(difference) as p_value
    from figures
),

adjusted as (
    select * from holm_adjusted(tested, judge_id)
)

select
    methods_of_judge.judge_id,
    judges.judge,
    methods_of_judge.method,
    adjusted.overall,  -- Mean of the method's overall on the questions that are compared, 0 to 5
    adjusted.recency_overall,  -- Mean of recency's overall on the same questions at the method's tokens, 0 to 5
    adjusted.difference.mean as difference,  -- overall - recency_overall: above 0 the method is better than recency
    adjusted.difference.std_error,  -- Standard error of the difference, clustered; NULL with a single
    -- cluster
    ci_low(adjusted.difference) as ci_low,  -- Lower end of the 95 % interval of the difference
    ci_high(adjusted.difference) as ci_high,  -- Upper end of the 95 % interval of the difference
    adjusted.p_value,  -- Two-sided p-value of no difference (t with df degrees of freedom)
    adjusted.p_adjusted,  -- The same after Holm's correction over the methods of the judge
    coalesce(adjusted.difference.n, 0) as n_pairs,  -- Questions that are compared
    coalesce(adjusted.n_sessions, 0) as n_sessions,  -- Sessions that these questions are of
    case
        when methods_of_judge.has_ladder and not methods_of_judge.is_step
            then methods_of_judge.n_probes - coalesce(adjusted.difference.n, 0)
    end as n_outside,  -- Scored questions that are left out: no steps of the ladder around the method's tokens; NULL
    -- without a ladder
    detectable_difference(adjusted.difference) as detectable_difference,  -- True difference that would be shown (95 %,
    -- not corrected) in 80 % of such data
    adjusted.difference.df,  -- Degrees of freedom of std_error
    adjusted.tokens_read,  -- Mean tokens that the questions were answered from: the context, and what was fetched for
    -- the question
    case
        when methods_of_judge.is_step then 'a step of the ladder itself'
        when not methods_of_judge.has_ladder
            then 'no recency was run on this history; add --strategies @recency-ladder'
        when adjusted.difference.n is null then 'its tokens lie outside of the ladder at every question'
        when adjusted.n_sessions = 1 then 'one session: no interval'
        when adjusted.difference.n_clusters = 1 then 'one project: no interval'
    end as undefined_because,  -- Why there is no difference, or no interval of it; NULL where there is one
    methods_of_judge.method_id,
    coalesce(adjusted.difference.n_clusters, 0) as n_clusters
from methods_of_judge
left join judges on methods_of_judge.judge_id = judges.judge_id
left join adjusted
    on methods_of_judge.judge_id = adjusted.judge_id and methods_of_judge.method_id = adjusted.method_id
order by
    judges.judge asc, methods_of_judge.judge_id asc, adjusted.difference.mean desc nulls last,
    methods_of_judge.method asc;
