"""Microsoft Agent Framework's strategies: for Python (``python``, ``python_summary``) and for .NET (``dotnet``)."""

from compaction.strategies.agent_framework import dotnet, python, python_summary

__all__ = ["dotnet", "python", "python_summary"]
