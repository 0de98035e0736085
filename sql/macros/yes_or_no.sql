-- The words for a truth value, as the name of a part: yes, no, or unknown where it is NULL.
create macro yes_or_no(truth) as
case when truth then 'yes' when not truth then 'no' else 'unknown' end;
