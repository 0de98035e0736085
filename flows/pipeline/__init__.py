"""The work without Prefect: planning it, and doing it. Without Prefect."""
