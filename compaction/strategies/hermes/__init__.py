"""Hermes Agent's lean compaction: a summary with an index of exact names, and a search that brings back the rest.

From the source of NousResearch/hermes-agent as of 4f22543 (August 2026, one request a compaction), which was read and
not run. ``agent/context_compressor.py`` keeps a small tail there and says in the summary how what is gone is found. Its
search, its redaction of secrets, its skills and images, and the note in the system prompt are no part of this. Tokens
are the project's exact ones.
"""

from compaction.strategies.hermes import lean

__all__ = ["lean"]
