-- Every verdict of a model has scores of its answer, judge and replicate.
select
    verdicts.answer_id,
    verdicts.judge_id,
    verdicts.judge_replicate
from verdicts
anti join scores
    on
        verdicts.answer_id = scores.answer_id
        and verdicts.judge_id = scores.judge_id
        and verdicts.judge_replicate = scores.judge_replicate
