"""Double-entry bookkeeping in plain text files."""

__version__ = "0.7.0"
