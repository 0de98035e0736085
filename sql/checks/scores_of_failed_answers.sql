-- No answer that failed has a score.
select
    scores.answer_id,
    scores.judge_id,
    scores.judge_replicate,
    scores.criterion
from scores
inner join answers on scores.answer_id = answers.answer_id
where answers.status = 'failed' and scores.score is not null
