-- Whether a dimension is part of overall. Constraints stand beside it, in a column of their own.
create macro is_in_overall(dimension) as
dimension <> 'constraints';
