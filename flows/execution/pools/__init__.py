"""Pools that run tasks: processes of this machine, or the workers of a cluster."""
