"""Reads a user's TOML file with the line number of every key, so that errors can name it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from flows.support.errors import UsageError
from judge.given_files import read_given

Step = str | int
"""A key of a table, or the position in an array of tables."""


class KeyPositions:
    """The line numbers of the keys in a TOML text."""

    def __init__(self, name: str, text: str) -> None:
        """``name`` is what an error calls the file."""
        self._name = name
        self._text = text

    @cached_property
    def _lines(self) -> dict[tuple[Step, ...], int]:
        return lines_of(self._text)

    def of(self, *path: Step) -> str:
        """The beginning of an error message: file, line and key, as far as they are known."""
        key = next(step for step in reversed(path) if isinstance(step, str))
        line = self._lines.get(path)
        return f"{self._name}, line {line}: {key}" if line else f"{self._name}: {key}"


def lines_of(text: str) -> dict[tuple[Step, ...], int]:
    """Path of a key, or of a table → the line, counted from 1, of the statement that sets or opens it.

    The parser itself is asked, of one beginning of the text after another: the first in which a key stands ends with
    its statement, and the longest one before that can be parsed ends where its statement begins.
    """
    lines = text.splitlines(keepends=True)
    found: dict[tuple[Step, ...], int] = {}
    whole = 0
    for end, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            whole = end if whole == end - 1 else whole
            continue
        try:
            data = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        for path in _key_paths(data, ()):
            found.setdefault(path, whole + 1)
        whole = end
    return found


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], KeyPositions]:
    """Read the values of a file, and their places; errors call the file ``what``.

    Raises:
        UsageError: there is no such file, or it is no TOML; says which line.
    """
    name = f"{what} {path}"
    try:
        text = read_given(path).decode()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: cannot be read as UTF-8 text: {error}") from None
    try:
        return tomllib.loads(text), KeyPositions(name, text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no TOMLDecodeError
        raise UsageError(f"{name}: not TOML: {error}") from None


def _key_paths(data: Any, path: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The paths of all keys, tables and array items in the data."""
    if isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield (*path, step)
            yield from _key_paths(value, (*path, step))
