"""A TOML file of a user's, with the line of every key, so that an error can name it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from flows.problems import UsageProblem

Step = str | int
"""A key of a table, or the position in an array of tables."""


class Places:
    """Where the keys of a text stand. Lines are looked for when one is asked for: most files have nothing wrong."""

    def __init__(self, name: str, text: str) -> None:
        """``name`` is what an error calls the file."""
        self._name = name
        self._line = cache(lambda path: line_of(text, path))

    def of(self, *path: Step) -> str:
        """What an error begins with: file, line and key, or as much of that as is known."""
        key = next(step for step in reversed(path) if isinstance(step, str))
        line = self._line(path)
        return f"{self._name}, line {line}: {key}" if line else f"{self._name}: {key}"


def line_of(text: str, path: tuple[Step, ...]) -> int | None:
    """The line, counted from 1, of the statement that sets a key (or opens a table); None where there is none.

    The parser itself is asked, of one beginning of the text after another: the first in which the key stands ends with
    its statement, and the longest one before that can be parsed ends where its statement begins.
    """
    lines = text.splitlines(keepends=True)
    whole = 0
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _stands_in(data, path):
            return whole + 1
        whole = end
    return None


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], Places]:
    """The values of a file, and their places; ``what`` is what an error calls such a file.

    Raises:
        UsageProblem: there is no such file, or it is no TOML; says which line.
    """
    name = f"{what} {path}"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageProblem(f"{name}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{name}: cannot be read as UTF-8 text: {error}") from None
    try:
        return tomllib.loads(text), Places(name, text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"{name}: not TOML: {error}") from None


def _stands_in(data: Any, path: tuple[Step, ...]) -> bool:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
