"""The store's tables and views: every definition is an SQL file, created by ``flows.database.sql_model``.

Layers, in the order of their creation (by name within a layer; a view reads only layers above its own, so that no
other order has to be worked out):

==============  =======================================================================================
``macros``      formulas of values (the mean and standard error of clustered data, quantiles of Student's t) and of
                whole queries, which a macro takes by name (``holm_adjusted``, ``mean_squares``)
``schema``      one CREATE TABLE per table: types, units, allowed values, what every column is;
                ``keys.toml``: what identifies a row of each, of which checks are made
``staging``     ``stg_…``: rows of a table with what they belong to, under the names that the rest uses
``intermediate``  ``int_…``: figures of single answers
``aggregates``  ``agg_…``: sums per session and differences of methods, from which the marts work out figures
``marts``       what analysts read: ``leaderboard``, ``leaderboard_long``, ``coverage`` …; of the heaviest a load makes
                a table (``flows.database.database_draft.MATERIALIZED``)
``boards``      views over marts: ``fronts``, the order of the leaderboard
``checks``      one query per invariant, whose rows are the violations; ``checks`` counts them
``load``        queries that select a table's rows from the store's Parquet files (``shard_…``); not in the database
``queries``     read-only, not in the database: ``ready`` (for people), ``report`` (the page of a store), ``scorecard``,
                ``recommend``, ``nights`` (what a night is made of), ``backfill`` (what a backfill is to have judged),
                ``pairs``
==============  =======================================================================================

Each file opens with its grain, which becomes the comment of the table or view. What stands behind a column becomes the
column's comment; of one without any ``columns.toml`` says what it means everywhere. ``docs/sql.md`` is the page for
analysts.
"""
