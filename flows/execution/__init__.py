"""Runs the work: one run, its stages as Prefect tasks, Prefect's server."""
