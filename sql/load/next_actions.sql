-- One row per point × context that the next action was asked from, of points and compactions that are shown and of
-- sessions as they are now.
select
    asked.*,
    compactions.method_id
from shard_next_actions as asked
semi join points on asked.point_id = points.point_id
semi join sessions
    on asked.session_id = sessions.session_id and asked.content_sha256 = sessions.content_sha256
left join compactions on asked.compaction_id = compactions.compaction_id
where
    asked.responder = getvariable('responder')
    and asked.code = getvariable('acting')
    and (asked.compaction_id is null or compactions.compaction_id is not null)
