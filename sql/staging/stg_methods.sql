-- One row per method, under a name that no other method has.
--
-- The same strategy can have been run on prefixes and in a chain, or with two summarisers: such methods carry what sets
-- them apart in brackets, so that a name on the leaderboard always means one thing.
create view stg_methods as
select
    method_id,
    case
        when count(*) over (partition by method) = 1 then method
        when count(*) over (partition by method, history, summarizer) = 1
            then method || ' [' || concat_ws(', ', history, summarizer) || ']'
        else method || ' [' || concat_ws(', ', history, summarizer, method_id) || ']'
    end as method,
    strategy,
    params,
    peer,
    peer_version,
    mode,
    needs_model,
    history,
    summarizer
from methods;
