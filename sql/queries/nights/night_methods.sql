-- One row per method: the name by which nights are compared.
--
-- Besides the database it reads `latest_methods`: the method that was run last under each name.
select
    stg_methods.method_id,
    coalesce(latest_methods.name, stg_methods.method) as method
from stg_methods
left join latest_methods on stg_methods.method_id = latest_methods.method_id
