-- The embedded judge, which is deterministic, gives an anchor the same scores on every day.
select
    anchor_scores.answer_id,
    anchor_scores.judge_id,
    anchor_scores.criterion
from anchor_scores
inner join judges on anchor_scores.judge_id = judges.judge_id
where judges.judge = 'embedded'
group by anchor_scores.answer_id, anchor_scores.judge_id, anchor_scores.criterion
having min(anchor_scores.score) < max(anchor_scores.score)
