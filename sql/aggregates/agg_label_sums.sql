-- One row per judge × method × session × dimension (and 'overall') with labels: weighted sums of people's scores and of
-- the judge's over the same answers.
create view agg_label_sums as
select
    labels.judge_id,
    answers.method_id,
    answers.session_id,
    labels.dimension,
    count(*) as n_labelled,  -- Answers that people labelled and the judge scored
    bool_or(labels.is_drawn) as is_drawn,  -- Whether they are of a drawn sample, so that weights are inverse chances
    sum(labels.weight) as weight_sum,  -- Sum of the weights w
    sum(labels.weight * labels.score) as label_sum,  -- Sum of w × the people's score
    sum(labels.weight * answers.score) as score_sum,  -- Sum of w × the judge's score
    sum(labels.weight * answers.score * labels.score) as product_sum,  -- Sum of w × both scores
    sum(labels.weight * answers.score ** 2) as square_sum  -- Sum of w × the judge's score squared
from int_human_scores as labels
inner join int_answer_scores as answers using (judge_id, answer_id, dimension)
where labels.weight is not null
group by labels.judge_id, answers.method_id, answers.session_id, labels.dimension;
