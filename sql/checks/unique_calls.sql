-- call_id identifies a row of calls.
select
    call_id,
    count(*) as n_rows
from calls
group by call_id
having count(*) > 1
