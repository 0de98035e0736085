"""Completions for the shell's Tab key: strategies, formats, queries, and contents of the store on the command line.

Heavy modules are imported only when needed. An error gives no completions: a shell is no place for error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import duckdb

Offer = list[tuple[str, str]]
"""Values with a word about each."""

Known = Callable[[typer.Context], Iterable[tuple[str, str]]]


def _complete_value(known: Known) -> Callable[[typer.Context, str], Offer]:
    """Complete a value: offer the known values that begin with the typed text."""

    def offer(ctx: typer.Context, incomplete: str) -> Offer:
        try:
            return [(value, said) for value, said in known(ctx) if value.startswith(incomplete)]
        except Exception:
            return []

    return offer


def _complete_list(known: Known) -> Callable[[typer.Context, str], Offer]:
    """Complete the last item of a list with commas."""

    def offer(ctx: typer.Context, incomplete: str) -> Offer:
        done, comma, last = incomplete.rpartition(",")
        if done.count("(") > done.count(")"):
            return []  # within the parameters of a strategy
        given = done.split(",")
        try:
            found = [(value, said) for value, said in known(ctx) if value.startswith(last) and value not in given]
        except Exception:
            return []
        return [(f"{done}{comma}{value}", said) for value, said in found]

    return offer


@_complete_list
def strategies(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Ids of strategies, and sets of methods."""
    from compaction import load_registry
    from compaction.sets import list_sets

    registry = load_registry()
    yield from list_sets(registry).items()
    yield from ((name, one.summary) for name, one in sorted(registry.items()))


@_complete_value
def queries(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """The ready queries."""
    from flows.database.ready_queries import ready_queries

    yield from ((query.name, query.question) for query in ready_queries().values())


@_complete_value
def rubrics(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Ids of rubrics."""
    from judge.rubric import list_rubrics

    yield from ((name, "") for name in list_rubrics())


@_complete_value
def specs(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Offer the specs of models."""
    yield "embedded", "no language model"
    yield "openai:", "a model behind OpenAI's interface"
    yield "anthropic:", "a model behind Anthropic's interface"


@_complete_value
def points(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Ways to choose points."""
    yield "tokens:32000", "every so many tokens"
    yield "messages:50", "every so many messages"
    yield "share:0.5,0.9", "at shares of a session's tokens"
    yield "sizes:8000,16000,32000", "once, at each size of the history"
    yield "recorded", "where the sessions were compacted"


@_complete_value
def methods(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Methods with results in the store."""
    yield from _rows(ctx, "SELECT DISTINCT method, strategy FROM stg_methods ORDER BY 1")


@_complete_value
def judges(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Judges in the store."""
    yield from _rows(ctx, "SELECT DISTINCT judge, model FROM judges ORDER BY 1")


@_complete_value
def relations(ctx: typer.Context) -> Iterable[tuple[str, str]]:
    """Tables and views of the store, without the inner ones."""
    from flows.database.scores_db import INNER, list_relations

    with _connect(ctx) as connection:
        found = list_relations(connection)
    yield from ((name, comment or "") for name, _, comment in found if not name.startswith(INNER))


def _rows(ctx: typer.Context, query: str) -> list[tuple[str, str]]:
    with _connect(ctx) as connection:
        return [(name, said or "") for name, said in connection.execute(query).fetchall()]


def _connect(ctx: typer.Context) -> duckdb.DuckDBPyConnection:
    from flows.database.scores_db import connect
    from flows.store.store import Store
    from flows.support.choices import DEFAULT_STORE

    return connect(Store.open(ctx.params.get("store") or DEFAULT_STORE).database)
