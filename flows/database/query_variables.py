"""The parameters of a ready query as DuckDB variables: checked, and set while the query runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb

from compaction.closest import did_you_mean
from flows.database.ready_queries import ReadyQuery
from flows.database.sql_model import first_sentence
from flows.support.errors import UsageError


def variables_of(
    connection: duckdb.DuckDBPyConnection, query: ReadyQuery, judge: str | None, given: Mapping[str, Any]
) -> dict[str, str]:
    """The variables to set for a query, checked.

    Raises:
        UsageError: a parameter that the query does not have, or a judge or method that the store does not have.
    """
    unknown = [name for name in given if name not in query.parameters]
    if unknown:
        names = ", ".join(query.parameters) or "none"
        meant = did_you_mean(unknown[0], query.parameters)
        raise UsageError(f"the query {query.name} has no parameter {unknown[0]!r}; its parameters: {names}{meant}")
    values = {name: str(value) for name, value in given.items() if value is not None}
    if judge is not None:
        values["judge"] = judge
    if "judge" in values:
        wanted_judge(connection, values["judge"])
    if "method" in values:
        known = [name for (name,) in connection.execute("SELECT method FROM stg_methods ORDER BY method").fetchall()]
        if values["method"] not in known:
            raise UsageError(f"no method {values['method']!r} in this store{did_you_mean(values['method'], known)}")
    return values


def wanted_judge(connection: duckdb.DuckDBPyConnection, judge: str) -> None:
    """Make sure that the store has a judge of that name or id.

    Raises:
        UsageError: it has not; says which it has.
    """
    found = connection.execute("SELECT judge, judge_id FROM judges ORDER BY judge, judge_id").fetchall()
    if not any(judge == name or id.startswith(judge) for name, id in found):
        known = ", ".join(f"{name} ({id})" for name, id in found) or "none"
        meant = did_you_mean(judge, [name for name, _ in found])
        raise UsageError(f"no judge {judge!r} in this store; there are: {known}{meant}")


@contextmanager
def with_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> Iterator[None]:
    """Set variables of the connection for the code inside.

    Raises:
        UsageError: what runs inside does not like a value.
    """
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
    try:
        yield
    except duckdb.Error as error:
        raise UsageError(f"the query cannot be run: {first_sentence(error)}") from None
    finally:
        for name in values:
            connection.execute(f"RESET VARIABLE {name}")
