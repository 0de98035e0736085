"""The DuckDB file: its model, its rows, its ready queries."""
