-- A method that compacts the whole session up to the point was given the tokens of the point.
select
    compactions.compaction_id,
    compactions.tokens_before,
    points.tokens_before as tokens_before_of_point
from compactions
inner join methods on compactions.method_id = methods.method_id
inner join points on compactions.point_id = points.point_id
where methods.history = 'prefix' and compactions.tokens_before <> points.tokens_before
