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
    end as method,
    strategy,
    strategy in ('none', 'empty') as is_control,
    params,
    peer,
    peer_version,
    mode,
    needs_model,
    history,
    summarizer,
    is_current,
    row_number() over (order by method_id) as method_number
from methods;

comment on column stg_methods.method_id is 'Identity of the method';
comment on column stg_methods.method is 'Name that no other method has, as on the leaderboard';
comment on column stg_methods.strategy is 'Id of the strategy';
comment on column stg_methods.is_control is
'Whether it removes nothing (none) or everything (empty): the ceiling and the floor, no method to choose';
comment on column stg_methods.params is 'All parameters as JSON text';
comment on column stg_methods.peer is 'System whose behaviour the strategy has; own for the project''s own';
comment on column stg_methods.peer_version is 'Version of that system';
comment on column stg_methods.mode is 'faithful or valid';
comment on column stg_methods.needs_model is 'Whether the strategy calls a summariser';
comment on column stg_methods.history is 'prefix or chain';
comment on column stg_methods.summarizer is 'Summariser that it was run with; NULL where it needs none';
comment on column stg_methods.is_current is 'Whether the newest run of the study asks for it';
comment on column stg_methods.method_number is
'Its place by method_id, from 1: as a key of a join many times faster than an id';
