"""The ready queries of ``sql/queries``: what each answers, and running one.

A query is a file that runs as it stands over the views. Its head says what it answers, how to read it, its parameters
and its columns; parameters are DuckDB variables (``SET VARIABLE name = 'value'``), and the file has their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

from flows.database import first_sentence
from flows.problems import UsageProblem, closest

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
    folder = files("sql").joinpath("queries")
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    queries = [parse(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")) for entry in found]
    return {query.name: query for query in queries}


def ready_query(name: str) -> ReadyQuery:
    """One of them, by its name, a unique beginning of it, or its number.

    Raises:
        UsageProblem: there is none of that name.
    """
    known = ready_queries()
    wanted = re.sub(r"^\d+_|\.sql$", "", name.strip().lower().replace("-", "_"))
    for query in known.values():
        if wanted.lstrip("0") in (query.name, str(query.number)):
            return query
    begun = [query for query in known.values() if wanted and query.name.startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    raise UsageProblem(f"no query {name!r}{closest(wanted, known)}; there are: {', '.join(known)}")


def parse(stem: str, text: str) -> ReadyQuery:
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
    return ReadyQuery(
        int(number), name, title, question, reading, entries["Parameters:"], entries["Columns:"], text
    )  # fmt: skip


def variables_of(
    connection: duckdb.DuckDBPyConnection, query: ReadyQuery, judge: str | None, given: Mapping[str, Any]
) -> dict[str, str]:
    """The variables to set for a query, looked over.

    Raises:
        UsageProblem: a parameter that the query does not have, or a judge or method that the store does not have.
    """
    unknown = [name for name in given if name not in query.parameters]
    if unknown:
        names = ", ".join(query.parameters) or "none"
        meant = closest(unknown[0], query.parameters)
        raise UsageProblem(f"the query {query.name} has no parameter {unknown[0]!r}; its parameters: {names}{meant}")
    values = {name: str(value) for name, value in given.items() if value is not None}
    if judge is not None:
        values["judge"] = judge
    if "judge" in values:
        wanted_judge(connection, values["judge"])
    if "method" in values:
        known = [name for (name,) in connection.execute("SELECT method FROM stg_methods ORDER BY method").fetchall()]
        if values["method"] not in known:
            raise UsageProblem(f"no method {values['method']!r} in this store{closest(values['method'], known)}")
    return values


def wanted_judge(connection: duckdb.DuckDBPyConnection, judge: str) -> None:
    """Make sure that the store has a judge of that name or id.

    Raises:
        UsageProblem: it has not; says which it has.
    """
    found = connection.execute("SELECT judge, judge_id FROM judges ORDER BY judge, judge_id").fetchall()
    if not any(judge == name or id.startswith(judge) for name, id in found):
        known = ", ".join(f"{name} ({id})" for name, id in found) or "none"
        meant = closest(judge, [name for name, _ in found])
        raise UsageProblem(f"no judge {judge!r} in this store; there are: {known}{meant}")


@contextmanager
def with_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> Iterator[None]:
    """Set variables of the connection for what runs inside.

    Raises:
        UsageProblem: what runs inside does not like a value.
    """
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
    try:
        yield
    except duckdb.Error as error:
        raise UsageProblem(f"the query cannot be run: {first_sentence(error)}") from None
    finally:
        for name in values:
            connection.execute(f"RESET VARIABLE {name}")
