"""Kimi's command line: its contexts, and the logs of Kimi Code."""
