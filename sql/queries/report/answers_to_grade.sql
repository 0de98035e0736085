-- One row per answer that a person is asked to grade next, in that order: the first answer of every method by lot, then
-- the second of every method; those of the judge's newest sample before all others. At most 20 a method.
--
-- Parameters (variables):
--   judge_id   judge version that has scored the answers
--   seed       another one is another lot
--   graded     answers that are left out, as a list of their ids
with sampled as (
    select answer_id
    from label_samples
    where judge_id = getvariable('judge_id')
    qualify sample_id = first_value(sample_id) over (order by drawn_at desc, sample_id asc)
),

first_ones as (
    select
        method_id,
        answer_id in (from sampled) as is_sampled,
        arg_min(answer_id, md5(getvariable('seed') || answer_id), 20) as answer_ids
    from int_answer_scores
    where
        judge_id = getvariable('judge_id')
        and dimension = 'overall'
        and answer_id not in (select unnest(getvariable('graded')))
    group by all
),

drawn as (
    select
        method_id,
        is_sampled,
        unnest(answer_ids) as answer_id
    from first_ones
)

select answer_id
from drawn
order by
    is_sampled desc,
    row_number() over (
        partition by method_id order by is_sampled desc, md5(getvariable('seed') || answer_id) asc
    ) asc,
    md5(getvariable('seed') || answer_id) asc
