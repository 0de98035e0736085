-- A judge decides the same criteria of every answer to the same probe, scored or unscored.
--
-- A verdict is known by how many criteria it has and a sum over their hashes, which two different sets hardly share.
with verdicts as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        count(*) as n_criteria,
        sum(hash(criterion)) as criteria
    from scores
    group by judge_id, answer_id, judge_replicate
)

select
    verdicts.judge_id,
    answers.probe_id,
    min(verdicts.n_criteria) as fewest_criteria,
    max(verdicts.n_criteria) as most_criteria
from verdicts
inner join answers on verdicts.answer_id = answers.answer_id
group by verdicts.judge_id, answers.probe_id
having min(verdicts.criteria) <> max(verdicts.criteria)
