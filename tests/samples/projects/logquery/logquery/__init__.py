"""Search and count structured logs."""

__version__ = "1.3.0"
