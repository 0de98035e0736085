-- Whether a method is shown: every current one, and with the variable `versions` at 'all' those of earlier runs, too.
-- The queries of sql/queries/ready/ ask it: set variable versions = 'all'.
create macro version_is_wanted(is_current) as
is_current or coalesce(getvariable('versions') = 'all', false);
