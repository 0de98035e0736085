"""Hermes Agent's lean compaction: a summary with an index of exact names, and a search that brings back the rest.

From ``agent/context_compressor.py`` of NousResearch/hermes-agent as it stood after 4f22543 (August 2026, one request a
compaction), which was read in a copy and not run. It keeps a small tail and says in the summary how to find what is
gone. Its search, its redaction of secrets, its skills and images, and the note in the system prompt are no part of
this. Tokens are the project's exact ones.
"""

from compaction.strategies.hermes import lean

__all__ = ["lean"]
