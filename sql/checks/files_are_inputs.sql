-- Whatever is counted by input is of an input that was read.
with counted as (
    select
        'sessions' as table_name,
        input_path
    from sessions
    union all
    select
        'folded_sessions' as table_name,
        input_path
    from folded_sessions
    union all
    select
        'messages_met' as table_name,
        input_path
    from messages_met
    union all
    select
        'set_aside' as table_name,
        input_path
    from set_aside
    union all
    select
        'masked_secrets' as table_name,
        input_path
    from masked_secrets
)

select
    counted.table_name,
    counted.input_path
from counted
anti join inputs on counted.input_path = inputs.input_path
