-- One row per pair of raters × answer × criterion, dimension or 'overall' that both have scored.
--
-- Raters are judge versions, people (the mean over all who labelled), single persons, and the repetitions of a judge:
-- its first against each later one. A judge's score is the mean over its replicates, as on the leaderboard.
-- Dimensions are weighted means over the criteria that both have scored, overall the mean of these dimensions: so the
-- two never differ because one of them left something out. Weights are those of each judge's own rubric; people have
-- those of the judge that they are compared with, and among each other those of the rubric that was used last. A
-- criterion that the two rubrics file under different dimensions counts for itself alone.
create view agg_rated_pairs as
with of_judges as materialized (
    select
        judge_id,
        answer_id,
        criterion,
        any_value(dimension) as dimension,
        any_value(weight) as weight,
        avg(score) as score
    from stg_scores
    where score is not null
    group by judge_id, answer_id, criterion
),

of_people as (
    select
        answer_id,
        criterion,
        avg(score) as score
    from human_scores
    group by answer_id, criterion
),

last_rubric as (
    select
        criteria.criterion,
        arg_max(criteria.dimension, judges.created_at) as dimension,
        arg_max(criteria.weight, judges.created_at) as weight
    from criteria
    inner join judges on criteria.rubric = judges.rubric
    group by criteria.criterion
),

first_replicate as (
    select
        judge_id,
        min(judge_replicate) as judge_replicate
    from scores
    group by judge_id
    having min(judge_replicate) < max(judge_replicate)
),

two_judges as (
    select
        'judges' as kind,
        a.judge_id as rater_a,
        b.judge_id as rater_b,
        0 as replicate,
        a.answer_id,
        a.criterion,
        case when a.dimension = b.dimension then a.dimension end as dimension,
        a.weight as weight_a,
        b.weight as weight_b,
        a.score as score_a,
        b.score as score_b
    from of_judges as a
    inner join of_judges as b
        on a.answer_id = b.answer_id and a.criterion = b.criterion and a.judge_id < b.judge_id
),

judge_and_people as (
    select
        'judge and people' as kind,
        'people' as rater_a,
        of_judges.judge_id as rater_b,
        0 as replicate,
        of_people.answer_id,
        of_people.criterion,
        of_judges.dimension,
        of_judges.weight as weight_a,
        of_judges.weight as weight_b,
        of_people.score as score_a,
        of_judges.score as score_b
    from of_people
    inner join of_judges
        on of_people.answer_id = of_judges.answer_id and of_people.criterion = of_judges.criterion
),

two_people as (
    select
        'people' as kind,
        a.rater as rater_a,
        b.rater as rater_b,
        0 as replicate,
        a.answer_id,
        a.criterion,
        last_rubric.dimension,
        coalesce(last_rubric.weight, 1) as weight_a,
        coalesce(last_rubric.weight, 1) as weight_b,
        a.score as score_a,
        b.score as score_b
    from human_scores as a
    inner join human_scores as b
        on a.answer_id = b.answer_id and a.criterion = b.criterion and a.rater < b.rater
    left join last_rubric on a.criterion = last_rubric.criterion
),

two_replicates as (
    select
        'replicates' as kind,
        a.judge_id as rater_a,
        a.judge_id as rater_b,
        b.judge_replicate as replicate,
        a.answer_id,
        a.criterion,
        a.dimension,
        a.weight as weight_a,
        b.weight as weight_b,
        a.score as score_a,
        b.score as score_b
    from first_replicate
    inner join stg_scores as a
        on first_replicate.judge_id = a.judge_id and first_replicate.judge_replicate = a.judge_replicate
    inner join stg_scores as b
        on
            a.judge_id = b.judge_id
            and a.answer_id = b.answer_id
            and a.criterion = b.criterion
            and a.judge_replicate < b.judge_replicate
    where a.score is not null and b.score is not null
),

on_criteria as materialized (
    select * from two_judges
    union all
    select * from judge_and_people
    union all
    select * from two_people
    union all
    select * from two_replicates
),

on_dimensions as materialized (
    select
        kind,
        rater_a,
        rater_b,
        replicate,
        answer_id,
        dimension,
        sum(score_a * weight_a) / sum(weight_a) as score_a,
        sum(score_b * weight_b) / sum(weight_b) as score_b
    from on_criteria
    where dimension is not null
    group by kind, rater_a, rater_b, replicate, answer_id, dimension
),

on_levels as (
    select
        * exclude (criterion, dimension, weight_a, weight_b),
        'criterion' as level,
        criterion as item
    from on_criteria
    union all by name
    select
        * exclude (dimension),
        'dimension' as level,
        dimension as item
    from on_dimensions
    union all by name
    select
        kind,
        rater_a,
        rater_b,
        replicate,
        answer_id,
        'overall' as level,
        'overall' as item,
        avg(score_a) as score_a,
        avg(score_b) as score_b
    from on_dimensions
    where is_in_overall(dimension)
    group by kind, rater_a, rater_b, replicate, answer_id
)

-- Rounded, so that what is equal but for the order of summation is equal.
select
    on_levels.kind,  -- judges, judge and people, people, or replicates
    on_levels.rater_a,  -- Judge version, person, or people
    on_levels.rater_b,  -- Judge version or person
    on_levels.replicate,  -- Repetition of the judging that is compared
    on_levels.answer_id,  -- Answer
    stg_answers.session_id,
    on_levels.level,
    on_levels.item,
    round(on_levels.score_a, 9) as score_a,  -- Score of rater_a, 0 to 5
    round(on_levels.score_b, 9) as score_b  -- Score of rater_b, 0 to 5
from on_levels
inner join stg_answers on on_levels.answer_id = stg_answers.answer_id
where stg_answers.status = 'done';
