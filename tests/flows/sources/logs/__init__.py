"""Small hand-made logs, one module a format, named like the format; every test of all formats runs over them.

A module has one or more of:

- ``LINES``: records of a log in JSON lines; line *n* holds the word ``token-n`` somewhere (in what becomes a message,
  or in what is counted as set aside),
- ``DOCUMENT``: a log that is one JSON value,
- ``TEXT``: a log that is text; ``NAME``: a file name for it,
- ``NAME``: the file name, where a format needs one,
- ``HAS_NO_PROMPTS``: set where logs of the format have answers and results only,
- ``ARCHIVE``, ``DATABASE``: a function that writes the log as an archive or a SQLite database to a path.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = {
    path.stem: import_module(f"{__name__}.{path.stem}") for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}


def logs_with(name: str) -> dict[str, Any]:
    """Format → the log of the formats that have one of this kind."""
    return {format: getattr(module, name) for format, module in MODULES.items() if hasattr(module, name)}
