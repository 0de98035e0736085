-- One row per judge with a score in the store, the one with the most scored answers first; of equal ones a model first.
select
    judges.judge_id,
    judges.judge,
    judges.model,
    judges.rubric,
    judges.protocol,
    judges.params,
    judges.prompt_sha256,
    judges.created_at,
    sum(leaderboard.n_answers) as n_answers,
    (
        select count(judge_validity.passes)
        from judge_validity
        where judge_validity.judge_id = judges.judge_id
    ) as n_checks,
    (
        select count_if(judge_validity.passes)
        from judge_validity
        where judge_validity.judge_id = judges.judge_id
    ) as n_passed,
    (
        select coalesce(max(judge_remarks.n), 0)
        from judge_remarks
        where judge_remarks.judge_id = judges.judge_id and judge_remarks.item = 'judges summaries of its own model'
    ) as n_own_summaries,
    (
        select coalesce(max(judge_remarks.n), 0)
        from judge_remarks
        where judge_remarks.judge_id = judges.judge_id and judge_remarks.item = 'leaves members out'
    ) as n_left_out
from judges
inner join leaderboard on judges.judge_id = leaderboard.judge_id
group by all
having sum(leaderboard.n_answers) > 0
order by
    n_answers desc,
    any_value(judges.judge = 'embedded') asc,
    judges.created_at desc,
    judges.judge_id asc
