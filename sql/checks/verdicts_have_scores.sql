-- Every verdict of a model has scores of its answer, judge and replicate.
select
    verdicts.answer_id,
    verdicts.judge_id,
    verdicts.judge_replicate
from verdicts
anti join scores using (answer_id, judge_id, judge_replicate)
