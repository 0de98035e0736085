"""Measures of a compacted context that ask no question: its files, and the facts that it states."""
