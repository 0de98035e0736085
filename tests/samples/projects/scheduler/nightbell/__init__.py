"""nightbell: a small job scheduler."""

__version__ = "0.9.2"
