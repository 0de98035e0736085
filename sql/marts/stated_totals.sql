-- One row per judge that is a language model: its own totals beside those computed from its scores.
create view stated_totals as
with overall as (
    select
        judge_id,
        answer_id,
        judge_replicate,
        avg(score) as score
    from stg_dimension_scores
    where is_in_overall(dimension)
    group by judge_id, answer_id, judge_replicate
)

select
    verdicts.judge_id,
    judges.judge,
    count(*) as n_verdicts,
    count(*) filter (where verdicts.asked_again) as n_asked_again,
    count(verdicts.stated_overall) as n_stated,
    avg(verdicts.stated_overall - overall.score) as mean_difference,
    avg(abs(verdicts.stated_overall - overall.score)) as mean_absolute_difference,
    max(abs(verdicts.stated_overall - overall.score)) as largest_difference
from verdicts
inner join judges on verdicts.judge_id = judges.judge_id
left join overall
    on
        verdicts.judge_id = overall.judge_id
        and verdicts.answer_id = overall.answer_id
        and verdicts.judge_replicate = overall.judge_replicate
group by verdicts.judge_id, judges.judge
order by judges.judge, verdicts.judge_id;

comment on view stated_totals is
'What models as judges said of their totals, against the totals computed from their scores; one row per judge';
comment on column stated_totals.judge_id is 'Judge version';
comment on column stated_totals.judge is 'Its name';
comment on column stated_totals.n_verdicts is 'Verdicts that could be read';
comment on column stated_totals.n_asked_again is 'Of these, those whose first reply could not be read';
comment on column stated_totals.n_stated is 'Of these, those with a total of the model''s own';
comment on column stated_totals.mean_difference is
'Mean of stated less computed overall, 0–5; NULL where none was stated';
comment on column stated_totals.mean_absolute_difference is 'Mean of the difference without its sign';
comment on column stated_totals.largest_difference is 'Largest difference without its sign';
