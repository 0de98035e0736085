-- One row per model call of a replayed session under a method, of the sessions as they are now.
with made as (
    select
        replayed.session_id,
        replayed.method_id,
        unnest(replayed.calls) as call
    from shard_replays as replayed
    semi join sessions
        on replayed.session_id = sessions.session_id and replayed.content_sha256 = sessions.content_sha256
    semi join methods on replayed.method_id = methods.method_id
    where
        replayed.status = 'done'
        and replayed.points_spec = getvariable('points_spec')
        and replayed.code = getvariable('replaying')
)

select
    session_id,
    method_id,
    call.seq,
    call.input_tokens,
    call.cached_tokens,
    call.output_tokens
from made
