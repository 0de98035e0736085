-- One row per method, under a name that no other method has.
--
-- The same strategy can have been run on prefixes and in a chain, or with two summarisers: such methods carry what sets
-- them apart in brackets, so that a name on the leaderboard always means one thing. So does an earlier version of a
-- method whose name the current one goes on under.
create view stg_methods as
select
    method_id,
    case
        when
            count(*) over (partition by method, is_current) = 1
            and (is_current or not bool_or(is_current) over (partition by method))
            then method
        when is_current and count(*) over (partition by method, history, summarizer, is_current) = 1
            then method || ' [' || concat_ws(', ', history, summarizer) || ']'
        when not is_current then method || '-' || left(method_id, 8)
        else method || ' [' || concat_ws(', ', history, summarizer, method_id) || ']'
    end as method,  -- Name that no other method has, as on the leaderboard
    strategy,  -- Id of the strategy
    strategy in ('none', 'empty') as is_control,  -- Whether it removes nothing (none) or everything (empty): the
    -- ceiling and the floor, no method to choose
    params,  -- All parameters as JSON text
    peer,
    peer_version,
    mode,  -- faithful or valid
    needs_model,
    history,  -- prefix or chain
    summarizer,  -- Summariser that it was run with; NULL where it needs none
    is_current,  -- Whether the newest run of the study asks for it
    row_number() over (order by method_id) as method_number  -- Its place by method_id, from 1: as a key of a join many
    -- times faster than an id
from methods;
