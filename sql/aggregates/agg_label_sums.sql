-- One row per judge × method × session × dimension (and 'overall') with labels: weighted sums of people's scores and of
-- the judge's over the same answers.
create view agg_label_sums as
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
inner join int_answer_scores as answers
    on
        labels.judge_id = answers.judge_id
        and labels.answer_id = answers.answer_id
        and labels.dimension = answers.dimension
where labels.weight is not null
group by labels.judge_id, answers.method_id, answers.session_id, labels.dimension;

comment on column agg_label_sums.judge_id is 'Judge version';
comment on column agg_label_sums.method_id is 'Identity of the method';
comment on column agg_label_sums.session_id is 'Session';
comment on column agg_label_sums.dimension is 'Dimension of the rubric, or overall';
comment on column agg_label_sums.n_labelled is 'Answers that people labelled and the judge scored';
comment on column agg_label_sums.is_drawn is 'Whether they are of a drawn sample, so that weights are inverse chances';
comment on column agg_label_sums.weight_sum is 'Sum of the weights w';
comment on column agg_label_sums.label_sum is 'Sum of w × the people''s score';
comment on column agg_label_sums.score_sum is 'Sum of w × the judge''s score';
comment on column agg_label_sums.product_sum is 'Sum of w × both scores';
comment on column agg_label_sums.square_sum is 'Sum of w × the judge''s score squared';
