-- A number, or 0 where it is below; NULL stays NULL.
create macro at_least_0(value) as
case when value is not null then greatest(value, 0) end;
