-- One row per comparison with a verdict, with the methods and the cluster that it belongs to.
create view int_comparisons as
select
    comparisons.comparison_id,  -- Hash of judge, answers and order
    comparisons.judge_id,  -- Version of the judge in pairs
    comparisons.judge,  -- Name of the model that judged
    comparisons.session_id,
    stg_clusters.cluster,  -- Project or session
    comparisons.probe_id,
    methods_a.method as method_a,  -- Method of answer a: the first in the alphabet
    methods_b.method as method_b,  -- Method of answer b
    comparisons.first,  -- Answer that was shown first: a or b
    comparisons.outcome,  -- Answer that is better: a, b or tie
    comparisons.is_same,  -- Whether both answers are the same text
    case comparisons.outcome when 'a' then 1.0 when 'tie' then 0.5 else 0.0 end as won_by_a  -- 1, a tie 0.5, or 0
from comparisons
inner join stg_clusters on comparisons.session_id = stg_clusters.session_id
inner join stg_answers as of_a on comparisons.answer_a = of_a.answer_id
inner join stg_answers as of_b on comparisons.answer_b = of_b.answer_id
inner join stg_methods as methods_a on of_a.method_id = methods_a.method_id
inner join stg_methods as methods_b on of_b.method_id = methods_b.method_id
where comparisons.outcome is not null;
