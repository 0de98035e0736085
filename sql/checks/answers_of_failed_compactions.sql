-- No question is answered from a compaction that failed or is not applicable.
select
    answers.answer_id,
    answers.compaction_id
from answers
inner join compactions on answers.compaction_id = compactions.compaction_id
where compactions.status <> 'done'
