-- One row per wanted point × need: what the session made use of after the point, and where that had been shown.
--
-- Parameters (variables):
--   points     points, as a list of their ids
select
    point_id,
    kind,
    value,
    observation_seq,
    observation_tokens,
    needed_at
from needs
where point_id in (select unnest(getvariable('points')))
order by point_id, number
