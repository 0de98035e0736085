"""The ready queries of ``sql/queries/ready``: what each answers, and how to read it.

A query is a file that runs as it stands over the views. Its head says what it answers, how to read it, its parameters
and its columns; parameters are DuckDB variables (``SET VARIABLE name = 'value'``), and the file has their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from compaction.closest import did_you_mean
from flows.support.errors import UsageError

_HEAD = re.compile(r"(?:^--.*\n)+", re.MULTILINE)
_ENTRY = re.compile(r"^  (\w+) {2,}(\S.*)$")


@dataclass(frozen=True)
class ReadyQuery:
    """A query that comes with the project."""

    number: int
    name: str
    title: str
    question: str
    """What it answers."""
    reading: str
    """Its grain and how to read it; paragraphs with an empty line between them."""
    parameters: Mapping[str, str]
    """Name of a variable → what it does and what it is when it is not set."""
    columns: Mapping[str, str]
    """Name of a column of the answer, in order → what it is."""
    sql: str
    """The file."""


@cache
def ready_queries() -> Mapping[str, ReadyQuery]:
    """The queries by name, in their order."""
    folder = files("sql").joinpath("queries", "ready")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    queries = [parse_query(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")) for entry in found]
    return {query.name: query for query in queries}


def ready_query(name: str) -> ReadyQuery:
    """The ready query with this name, unique beginning of a name, or number.

    Raises:
        UsageError: there is none of that name.
    """
    known = ready_queries()
    wanted = re.sub(r"^\d+_|\.sql$", "", name.strip().lower().replace("-", "_"))
    for query in known.values():
        if wanted.lstrip("0") in (query.name, str(query.number)):
            return query
    begun = [query for query in known.values() if wanted and query.name.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    raise UsageError(f"no query {name!r}{did_you_mean(wanted, known)}; there are: {', '.join(known)}")


def parse_query(stem: str, text: str) -> ReadyQuery:
    """A query from its file: ``NN_name`` and what stands in it."""
    number, _, name = stem.partition("_")
    match = _HEAD.match(text)
    lines = [line.removeprefix("--").removeprefix(" ").rstrip() for line in match[0].splitlines()] if match else [""]
    title, _, question = lines[0].partition(": ")
    prose: list[str] = []
    entries: dict[str, dict[str, str]] = {"Parameters:": {}, "Columns:": {}}
    into: dict[str, str] | None = None
    for line in lines[1:]:
        entry = _ENTRY.match(line)
        if line in entries:
            into = entries[line]
        elif into is None:
            prose.append(line)
        elif entry:
            into[entry[1]] = entry[2]
        elif line.strip() and into:
            last = list(into)[-1]
            into[last] += f" {line.strip()}"
    reading = re.sub(r"(?<!\n)\n(?!\n)", " ", "\n".join(prose).strip())
    return ReadyQuery(int(number), name, title, question, reading, entries["Parameters:"], entries["Columns:"], text)
