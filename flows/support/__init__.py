"""Helpers that every other folder may use, and that use none of them."""
