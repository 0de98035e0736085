-- Two steps of `t_polished`, one after the other.
--
-- By list_reduce, whose body DuckDB binds once. In t_polished(t_polished(…)) the text of the macro is there three times
-- over, and every view with an interval pays for it whenever it is read. sqlfluff knows no lambda of two parameters.
create or replace macro t_polished_twice(t, two_sided, df) as list_reduce( -- noqa: PRS
    [t, 1, 2], lambda polished, step: t_polished(polished, two_sided, df)
);
