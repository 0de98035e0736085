"""Aider's history in Markdown."""
