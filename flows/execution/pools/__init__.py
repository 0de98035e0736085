"""Where tasks are run: processes of this machine, or the workers of a cluster."""
