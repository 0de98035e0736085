-- Whatever the method, the calls of a replayed session answer what the session has.
select
    session_id,
    min(output_tokens) as fewest,
    max(output_tokens) as most
from agg_replays
group by session_id
having min(output_tokens) < max(output_tokens)
