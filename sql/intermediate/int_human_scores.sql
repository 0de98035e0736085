-- One row per judge × labelled answer × dimension that people labelled as fully as the judge scored it, and one more
-- with the dimension 'overall' where that holds of every dimension.
--
-- People are set against the judge on the same criteria: those that the judge scored for this answer. A rater who left
-- one of them open says nothing of the dimension. Over several raters it is the mean of those who do. The weight is
-- the inverse of the answer's chance of being drawn, added up over the samples that it was labelled in; where no label
-- of the store is of a sample, every weight is 1, and where some are, the others have none (NULL).
create view int_human_scores as
with judged as (
    select
        judge_id,
        answer_id,
        dimension,
        criterion,
        any_value(weight) as weight
    from stg_scores
    where score is not null and answer_id in (select human_scores.answer_id from human_scores)
    group by judge_id, answer_id, dimension, criterion
),

raters as (
    select distinct
        answer_id,
        rater
    from human_scores
),

per_rater as (
    select
        judged.judge_id,
        judged.answer_id,
        judged.dimension,
        raters.rater,
        sum(human_scores.score * judged.weight) / sum(judged.weight) as score,
        count(human_scores.score) = count(*) as is_complete
    from judged
    inner join raters on judged.answer_id = raters.answer_id
    left join human_scores
        on
            raters.answer_id = human_scores.answer_id
            and raters.rater = human_scores.rater
            and judged.criterion = human_scores.criterion
    group by judged.judge_id, judged.answer_id, judged.dimension, raters.rater
),

with_overall as (
    select
        judge_id,
        answer_id,
        dimension,
        rater,
        score
    from per_rater
    where is_complete
    union all
    select
        judge_id,
        answer_id,
        'overall' as dimension,
        rater,
        avg(score) as score
    from per_rater
    where is_in_overall(dimension)
    group by judge_id, answer_id, rater
    having bool_and(is_complete)
),

drawn as (
    select
        labelled.answer_id,
        sum(1 / label_samples.probability) as weight
    from (
        select distinct
            answer_id,
            sample_id
        from human_scores
        where sample_id is not null
    ) as labelled
    inner join label_samples
        on labelled.answer_id = label_samples.answer_id and labelled.sample_id = label_samples.sample_id
    group by labelled.answer_id
)

select
    with_overall.judge_id,
    with_overall.answer_id,  -- Answer
    with_overall.dimension,
    avg(with_overall.score) as score,  -- Mean over the raters, 0 to 5
    count(*) as n_raters,  -- People who labelled the answer
    case when any_value(design.is_drawn) then any_value(weights.weight) else 1.0 end as weight,  -- Inverse chance of
    -- being drawn; 1 where no label of the store is of a sample, NULL where only others are
    any_value(design.is_drawn) as is_drawn  -- Whether the answer was drawn for labelling
from with_overall
cross join (select count(*) > 0 as is_drawn from drawn) as design
left join drawn as weights on with_overall.answer_id = weights.answer_id
group by with_overall.judge_id, with_overall.answer_id, with_overall.dimension;
