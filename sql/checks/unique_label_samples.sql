-- sample_id, answer_id identify a row of label_samples.
select
    sample_id,
    answer_id,
    count(*) as n_rows
from label_samples
group by sample_id, answer_id
having count(*) > 1
