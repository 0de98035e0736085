-- One row per judge × method × session × cycle: the mean overall of its answers.
create view agg_cycle_scores as
select
    judge_id,
    method_id,
    (select m.method from stg_methods as m where m.method_id = int_answer_scores.method_id) as method,
    session_id,
    cycle,  -- Number of the compaction point within its session, from 1
    avg(score) as mean  -- Mean overall, 0 to 5
from int_answer_scores
where dimension = 'overall'
group by judge_id, method_id, session_id, cycle;
