-- One row per answer × statement of the wanted points: what the context that was answered from tells of it, with what
-- the method fetches for the question.
--
-- Parameters (variables):
--   points     points, as a list of their ids
select
    stg_answers.point_id,
    stg_answers.answer_id,
    statement_states.state,
    coalesce(statement_states.with_fetched, statement_states.support) as support,
    statement_states.lines
from stg_answers
inner join statement_states using (compaction_id, probe_id)
where list_contains(getvariable('points'), stg_answers.point_id)
order by stg_answers.point_id, stg_answers.answer_id, statement_states.position
