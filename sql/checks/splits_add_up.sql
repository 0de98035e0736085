-- The parts of a split have together the answers of the whole, for every judge, method and dimension.
with parts as (
    select
        judge_id,
        method_id,
        split,
        dimension,
        sum(n_answers) as n_answers
    from agg_splits
    group by judge_id, method_id, split, dimension
)

select
    leaderboard_long.judge_id,
    leaderboard_long.method_id,
    leaderboard_long.method,
    leaderboard_long.dimension,
    every_split.split,
    leaderboard_long.n_answers,
    parts.n_answers as n_in_parts
from leaderboard_long
cross join
    (values ('task_type'), ('length'), ('probe_type'), ('cycle'), ('source'), ('resolved'), ('exit_status'))
        as every_split (split)
left join parts
    on
        leaderboard_long.judge_id = parts.judge_id
        and leaderboard_long.method_id = parts.method_id
        and leaderboard_long.dimension = parts.dimension
        and every_split.split = parts.split
where parts.n_answers is distinct from leaderboard_long.n_answers
