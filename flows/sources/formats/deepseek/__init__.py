"""Logs of GitHub Copilot CLI."""
