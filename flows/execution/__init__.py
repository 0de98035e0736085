"""How work is run: one run, its stages as Prefect tasks, Prefect's server."""
