-- One row per statement of the questions of the wanted points: where it stood, and what made use of it after the point.
--
-- Parameters (variables):
--   points   points, as a list of their ids
with stated as (
    select
        point_id,
        probe_id,
        generate_subscripts(json_extract(statements, '$[*]'), 1) as position,
        unnest(json_extract(statements, '$[*]')) as statement
    from probes
    where point_id in (select unnest(getvariable('points')))
),

told as (
    select
        point_id,
        probe_id,
        position,
        statement ->> '$.kind' as kind,
        statement ->> '$.text' as text,
        cast(statement -> '$.evidence' as integer[]) as evidence,
        statement ->> '$.exact[*]' as exact,
        cast(statement ->> '$.needed_at' as integer) as needed_at
    from stated
),

used as (
    select
        told.probe_id,
        told.position,
        min(needs.needed_at) as needed_at
    from told
    inner join needs on told.point_id = needs.point_id
    where makes_use_of(needs.kind, needs.value, told.kind, told.text, told.exact)
    group by told.probe_id, told.position
)

select
    told.point_id,
    told.probe_id,
    told.text,
    told.evidence[-1] as stated_at,
    least(if(told.needed_at >= points.cut_seq, told.needed_at, null), used.needed_at) as needed_at,
    -- Uses are looked for of files and exact words, in what the session has after the point.
    sessions.n_messages > points.cut_seq
    and (starts_with(told.kind, 'file_') or len(told.exact) > 0 or told.needed_at is not null) as is_checked
from told
inner join points on told.point_id = points.point_id
inner join sessions on points.session_id = sessions.session_id
left join used on told.probe_id = used.probe_id and told.position = used.position
order by told.point_id, told.probe_id, told.position
