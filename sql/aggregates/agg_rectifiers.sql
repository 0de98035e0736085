-- One row per judge × dimension (and 'overall') × method × rectifier (its own labels, or those of all) × session with
-- labels: what people's scores are beyond the judge's on the same answers.
--
-- judge_weight is the slope of people's scores on the judge's within methods, over all methods, kept within 0 and 1;
-- with the labels of all methods it is 1.
create view agg_rectifiers as
with label_sums as (
    select
        labels.judge_id,
        answers.method_id,
        answers.session_id,
        labels.dimension,
        count(*) as n_labelled,
        bool_or(labels.is_drawn) as is_drawn,
        sum(labels.weight) as weight_sum,
        sum(labels.weight * labels.score) as label_sum,
        sum(labels.weight * answers.score) as score_sum,
        sum(labels.weight * answers.score * labels.score) as product_sum,
        sum(labels.weight * answers.score ** 2) as square_sum
    from int_human_scores as labels
    inner join int_answer_scores as answers using (judge_id, answer_id, dimension)
    where labels.weight is not null
    group by labels.judge_id, answers.method_id, answers.session_id, labels.dimension
),

tuned as (
    select
        judge_id,
        dimension,
        coalesce(greatest(0, least(1, sum(covariance) / nullif(sum(variance), 0))), 0) as judge_weight
    from (
        select
            judge_id,
            dimension,
            sum(product_sum) - sum(label_sum) * sum(score_sum) / sum(weight_sum) as covariance,
            -- without a spread the difference is rounding
            case
                when sum(square_sum) - sum(score_sum) ** 2 / sum(weight_sum) > 1e-9 * sum(square_sum)
                    then sum(square_sum) - sum(score_sum) ** 2 / sum(weight_sum)
                else 0
            end as variance
        from label_sums
        group by judge_id, dimension, method_id
    ) as within_methods
    group by judge_id, dimension
)

select
    sums.judge_id,
    sums.dimension,
    sums.method_id,
    (select m.method from stg_methods as m where m.method_id = sums.method_id) as method,
    'method' as rectifier_of,  -- method: its own labels; all methods: those of all
    sums.session_id,
    tuned.judge_weight,  -- Weight of the judge's scores (lambda of PPI++), 0 to 1
    sums.n_labelled,  -- Answers that people labelled and the judge scored
    sums.is_drawn,  -- Whether they are of a drawn sample, so that weights are inverse chances
    sums.weight_sum,  -- Sum of the weights of these answers
    sums.label_sum - tuned.judge_weight * sums.score_sum as rest_sum  -- Sum of weight × (people's score - judge_weight
    -- × the judge's score)
from label_sums as sums
inner join tuned on sums.judge_id = tuned.judge_id and sums.dimension = tuned.dimension
union all
select
    methods.judge_id,
    methods.dimension,
    methods.method_id,
    (select m.method from stg_methods as m where m.method_id = methods.method_id) as method,
    'all methods' as rectifier_of,
    sums.session_id,
    1 as judge_weight,
    sum(sums.n_labelled) as n_labelled,
    bool_or(sums.is_drawn) as is_drawn,
    sum(sums.weight_sum) as weight_sum,
    sum(sums.label_sum - sums.score_sum) as rest_sum
from (
    select distinct
        judge_id,
        dimension,
        method_id
    from int_answer_scores
) as methods
inner join label_sums as sums on methods.judge_id = sums.judge_id and methods.dimension = sums.dimension
group by methods.judge_id, methods.dimension, methods.method_id, sums.session_id;
