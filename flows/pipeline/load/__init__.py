"""The tables of ``scores.duckdb``, made from the files of a store."""
