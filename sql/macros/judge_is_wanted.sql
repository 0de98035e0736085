-- Whether a judge is the one that the variable `judge` names, by its name or the beginning of its id; every judge is
-- while the variable is not set. The queries of sql/queries/ready/ ask it: set variable judge = 'embedded'.
create macro judge_is_wanted(judge, judge_id) as
coalesce(getvariable('judge') = judge or starts_with(judge_id, getvariable('judge')), true);
