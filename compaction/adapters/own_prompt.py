"""Prompts in a file of the user's own: ``codex_local(prompt_file="short.md")``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from compaction.strategy import StrategyError

MOST = 100_000
"""Characters of a prompt."""


def read_prompt(file: str) -> str:
    """The text of a file with a prompt, 1 to 100,000 characters. Raises StrategyError where there is none."""
    return _read(str(Path(file).expanduser().resolve()), file)


@cache
def _read(path: str, file: str) -> str:
    """Read a file once, so that a run has one prompt from its first point to its last."""
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else "it cannot be read as text in UTF-8"
        raise StrategyError(
            f"prompt_file {file}: {reason}; name a file with the instructions to the summariser"
        ) from None
    if not 0 < len(text) <= MOST:
        raise StrategyError(
            f"prompt_file {file}: expected 1 to {MOST:,} characters of instructions, found {len(text):,}"
        )
    return text
