-- One row per judge with scores: the baseline that is taken where none is named.
--
-- Of the current methods that are no control it is the one with scores in the most sessions, then on the most
-- questions, then the first by name. Scores have no say in it, since a baseline that is picked for its score is picked
-- for its luck, too.
create view agg_default_baselines as
with asked as (
    select
        scored.judge_id,
        scored.method_id,
        count(distinct scored.session_id) as n_sessions,
        count(distinct scored.probe_id) as n_questions
    from int_answer_scores as scored
    inner join stg_methods on scored.method_id = stg_methods.method_id
    where scored.dimension = 'overall' and stg_methods.is_current and not stg_methods.is_control
    group by scored.judge_id, scored.method_id
)

select
    asked.judge_id,
    stg_methods.method,
    asked.method_id
from asked
inner join stg_methods on asked.method_id = stg_methods.method_id
qualify
    row_number() over (
        partition by asked.judge_id
        order by asked.n_sessions desc, asked.n_questions desc, stg_methods.method asc
    ) = 1;
