-- `leaderboard` and `leaderboard_long` say the same of every judge, method and dimension.
with wide as (
    unpivot (
        select
            judge_id,
            method_id,
            method,
            overall,
            accuracy,
            context_awareness,
            artifact_trail,
            completeness,
            continuity,
            instruction_following,
            constraints
        from leaderboard
    )
    on
    overall, accuracy, context_awareness, artifact_trail, completeness, continuity, instruction_following, constraints
    into name dimension value mean
),

long as (
    select
        judge_id,
        method_id,
        method,
        dimension,
        mean
    from leaderboard_long
    where
        dimension in (
            'overall', 'accuracy', 'context_awareness', 'artifact_trail', 'completeness', 'continuity',
            'instruction_following', 'constraints'
        )
)

select
    coalesce(wide.judge_id, long.judge_id) as judge_id,
    coalesce(wide.method_id, long.method_id) as method_id,
    coalesce(wide.method, long.method) as method,
    coalesce(wide.dimension, long.dimension) as dimension,
    wide.mean as in_leaderboard,
    long.mean as in_leaderboard_long
from wide
full join long using (judge_id, method_id, dimension)
where abs(wide.mean - long.mean) > 1e-9 or wide.mean is null or long.mean is null
