-- One row per answer × judge replicate that a backfill is to have judged.
--
-- Besides the database it reads `shard_scores` (all verdicts of the store: those of a backfill that was killed are not
-- in the database yet), `chosen_sessions`, and the variables judge_id, judge_replicates, since, until, methods,
-- at_most. What a backfill takes up first: answers that were never judged before those whose verdict failed, of these
-- the newest day, of a day whole points, so that all methods are asked the same questions however far it gets.
with given as (
    select
        answers.answer_id,
        answers.compaction_id,
        answers.probe_id,
        compactions.point_id,
        points.session_id,
        points.cut_seq,
        stg_methods.method,
        cast(answers.answered_at as date) as day
    from answers
    inner join compactions on answers.compaction_id = compactions.compaction_id
    inner join points on compactions.point_id = points.point_id
    inner join stg_methods on compactions.method_id = stg_methods.method_id
    semi join chosen_sessions on points.session_id = chosen_sessions.session_id
    where
        answers.status = 'done'
        and (getvariable('since') is null or answers.answered_at >= getvariable('since'))
        and (getvariable('until') is null or answers.answered_at < getvariable('until'))
        and list_contains(getvariable('methods'), stg_methods.method)
),

replicates as (
    select cast(unnest(range(getvariable('judge_replicates'))) as integer) as judge_replicate
),

verdicts as (
    select
        answer_id,
        judge_replicate,
        bool_or(status = 'done') as is_given
    from shard_scores
    where judge_id = getvariable('judge_id')
    group by answer_id, judge_replicate
),

lacking as (
    select
        given.*,
        replicates.judge_replicate,
        verdicts.answer_id is not null as has_failed
    from given
    cross join replicates
    left join verdicts
        on
            given.answer_id = verdicts.answer_id
            and replicates.judge_replicate = verdicts.judge_replicate
    where not coalesce(verdicts.is_given, false)
),

units as (
    select
        has_failed,
        day,
        session_id,
        cut_seq,
        point_id,
        count(distinct answer_id) as n_answers
    from lacking
    group by has_failed, day, session_id, cut_seq, point_id
),

counted as (
    select
        *,
        sum(n_answers) over (
            order by has_failed asc, day desc nulls last, session_id asc, cut_seq asc, point_id asc
            rows between unbounded preceding and current row
        ) as n_until
    from units
),

taken as (
    select *
    from counted
    where getvariable('at_most') is null or n_until <= getvariable('at_most') or n_until = n_answers
),

numbered as (
    select
        lacking.*,
        -- Only the first point alone can be more than is wanted.
        case
            when getvariable('at_most') is not null and taken.n_until = taken.n_answers
                then dense_rank() over (
                    partition by taken.has_failed, taken.day, taken.point_id
                    order by lacking.probe_id asc, lacking.answer_id asc
                )
        end as number_in_first
    from lacking
    inner join taken
        on
            lacking.has_failed = taken.has_failed
            and lacking.day is not distinct from taken.day
            and lacking.point_id = taken.point_id
)

select
    day,
    cast('0x' || left(sha256(session_id), 4) as integer) as place,
    session_id,
    cut_seq,
    answer_id,
    compaction_id,
    probe_id,
    method,
    judge_replicate
from numbered
where coalesce(number_in_first <= getvariable('at_most'), true)
order by place, session_id, cut_seq, method, probe_id, answer_id, judge_replicate
