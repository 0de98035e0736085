-- One row per answer × statement of the wanted points: what the context that was answered from tells of it, with what
-- the method fetches for the question.
--
-- Parameters (variables):
--   points     points, as a list of their ids
with wanted as (
    select
        point_id,
        session_id
    from points
    where point_id in (select unnest(getvariable('points')))
),

answered as (
    select
        compactions.point_id,
        answers.compaction_id,
        answers.probe_id,
        answers.answer_id
    from answers
    inner join compactions on answers.compaction_id = compactions.compaction_id
    where
        answers.session_id in (select wanted.session_id from wanted)
        and compactions.point_id in (select wanted.point_id from wanted)
)

select
    answered.point_id,
    answered.answer_id,
    statement_states.state,
    coalesce(statement_states.with_fetched, statement_states.support) as support,
    statement_states.lines
from statement_states
inner join answered
    on statement_states.compaction_id = answered.compaction_id and statement_states.probe_id = answered.probe_id
where statement_states.session_id in (select wanted.session_id from wanted)
order by answered.point_id, answered.answer_id, statement_states.position
