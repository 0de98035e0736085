"""colpick: command line tools for delimited text."""

__version__ = "1.4.1"
