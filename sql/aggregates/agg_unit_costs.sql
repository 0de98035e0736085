-- One row per judge: model calls and US dollars that a compaction, an answer, a verdict and a session's questions cost.
--
-- Dollars are those that were paid, NULL as soon as one of them is not known. Calls are those that were sent and
-- done (what the call cache answered was not sent), over the items that there are; the embedded engine makes none.
create view agg_unit_costs as
with sent as (
    select
        stage,
        model,
        count(*) as n_calls,
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd
    from calls
    where status = 'done' and not cached and not starts_with(model, 'embedded')
    group by stage, model
),

verdicts_given as (
    select
        judge_id,
        count(distinct struct_pack(a := answer_id, r := judge_replicate)) as n_verdicts
    from scores
    group by judge_id
),

calls_of_judges as (
    select
        judges.judge_id,
        sum(sent.n_calls) as n_calls,
        case when count(*) = count(sent.cost_usd) then sum(sent.cost_usd) end as cost_usd
    from judges
    inner join sent
        on sent.stage = 'score' and (judges.judge = sent.model or starts_with(judges.judge, sent.model || ' '))
    group by judges.judge_id
),

sent_by_stage as (
    select
        stage,
        sum(n_calls) as n_calls,
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd
    from sent
    group by stage
),

compactions_done as (
    select
        count(*) as n,
        case when count(*) = count(cost_usd) then avg(cost_usd) end as cost_usd
    from compactions
    where status = 'done'
),

answers_done as (
    select
        count(*) as n,
        case when count(*) = count(cost_usd) then avg(cost_usd) end as cost_usd
    from answers
    where status = 'done'
),

sessions_asked as (
    select count(distinct session_id) as n
    from points
)

select
    judges.judge_id,
    compactions_done.cost_usd as usd_a_compaction,  -- US dollars of a compaction; NULL where not known
    answers_done.cost_usd as usd_an_answer,  -- US dollars of an answer; NULL where not known
    case
        when starts_with(judges.judge, 'embedded') then 0.0
        when calls_of_judges.n_calls > 0
            then
                calls_of_judges.cost_usd
                / calls_of_judges.n_calls
                * greatest(1, calls_of_judges.n_calls / verdicts_given.n_verdicts)
    end as usd_a_verdict,  -- US dollars of a verdict; NULL where not known
    case
        when of_probes.n_calls is null then 0.0
        else of_probes.cost_usd / sessions_asked.n
    end as usd_a_session,  -- US dollars of the questions of a session of the usual size; NULL where not known
    coalesce(of_compactions.n_calls / nullif(compactions_done.n, 0), 0) as calls_a_compaction,  -- Model calls of a
    -- compaction
    coalesce(of_answers.n_calls / nullif(answers_done.n, 0), 0) as calls_an_answer,  -- Model calls of an answer
    case
        when starts_with(judges.judge, 'embedded') then 0.0
        else greatest(1, coalesce(calls_of_judges.n_calls / verdicts_given.n_verdicts, 1))
    end as calls_a_verdict,  -- Model calls of a verdict
    coalesce(of_probes.n_calls / nullif(sessions_asked.n, 0), 0) as calls_a_session  -- Model calls of the questions of
    -- a session of the usual size
from judges
cross join compactions_done
cross join answers_done
cross join sessions_asked
inner join verdicts_given on judges.judge_id = verdicts_given.judge_id
left join calls_of_judges on judges.judge_id = calls_of_judges.judge_id
left join sent_by_stage as of_compactions on of_compactions.stage = 'compact'
left join sent_by_stage as of_answers on of_answers.stage = 'answer'
left join sent_by_stage as of_probes on of_probes.stage = 'probe';
