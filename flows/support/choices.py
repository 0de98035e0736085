"""Allowed values and defaults of options, shared by the command line and the code that uses them.

This module imports nothing of the project, so that help and completion start at once.
"""

from __future__ import annotations

from typing import Literal

DEFAULT_STORE = "./compaction-eval-store"
TOKENIZERS = ("o200k_base", "cl100k_base")
HISTORIES = ("prefix", "chain")
PROTOCOLS = ("auto", "study", "closed")

Format = Literal["table", "markdown", "csv", "json"]
"""Formats of printed rows."""
FileFormat = Literal["parquet", "csv", "json", "markdown"]
"""Formats of rows written to a file."""

Split = Literal["task_type", "length", "probe_type", "cycle", "source", "resolved", "exit_status"]
"""Columns by which the leaderboard and a comparison can be split."""
PanelRule = Literal["median", "mean", "majority"]
"""How the score of a panel comes of its members' (``judge.panel``)."""
Versions = Literal["current", "all"]
"""Which methods: those of the newest run of the study, or those of earlier runs too."""

PRICE_LIST = "anthropic:claude-sonnet-5-5"
"""The model at whose prices a session is reckoned, where none is named."""
QUESTIONS = 6
"""Default number of questions that a comparison shows."""
PAGE_BYTES = 20_000_000
"""Default limit on the bytes of a store's page."""
