"""The results of a store for notebooks: one call, one Polars frame.

::

    from compaction_eval import open_results

    results = open_results("compaction-eval-store")
    results                                  # what there is, and how to ask for it
    results.leaderboard()
    results.query("weakest_dimension")
    results.chart("price")                   # drawn by the notebook
    results.frame("paired_differences")
    results.sql("SELECT * FROM answers WHERE answer_id = $id", {"id": "…"})

``docs/notebooks.md`` shows a session. Nothing is written; the frames stay when the store changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from compaction.closest import did_you_mean
from flows.database.arrow_batches import query_batches
from flows.database.query_variables import variables_of, wanted_judge, with_variables
from flows.database.ready_queries import ready_queries, ready_query
from flows.database.scores_db import INNER, connect, list_relations, show_texts
from flows.database.sql_model import sql_text
from flows.reporting.notebook_charts import CHARTS, Chart, chart_query, make_chart
from flows.store.store import DATABASE, Store, is_object_store
from flows.support.choices import DEFAULT_STORE, Split
from flows.support.errors import EvalError, UsageError, install_extra

if TYPE_CHECKING:
    import pandas as pd


class Results:
    """The tables, views and ready queries of a store, as they were when it was opened.

    Every frame is a ``polars.DataFrame``: times carry UTC, lists and structs are lists and structs, what is missing is
    null. ``.pandas`` has the same calls for pandas. Use it as a context manager, or call ``close``.
    """

    def __init__(self, store: str | Path = DEFAULT_STORE) -> None:
        """Open a store.

        Args:
            store: The folder or URL of the store, or its ``scores.duckdb``.

        Raises:
            StoreError: there are no results there.
        """
        path = Path(store).expanduser()
        if is_object_store(str(store)):
            path = Store.open(str(store)).database
        self._path = path if path.suffix == ".duckdb" else path / DATABASE
        self._store = Store.at(str(store) if is_object_store(str(store)) else str(self._path.parent))
        self._connection = connect(self._path)

    def leaderboard(self, judge: str | None = None, by: Split | None = None) -> pl.DataFrame:
        """The leaderboard with intervals, best method first, or the means in the parts of a split.

        Args:
            judge: A judge's name or the beginning of its id; without it every judge, in rows of its own.
            by: ``task_type``, ``length``, ``probe_type``, ``cycle``, ``source``, ``resolved`` or ``exit_status``.

        Raises:
            UsageError: the store has no such judge, or there is no such split.
        """
        return self.query("leaderboard", judge) if by is None else self.frame(f"leaderboard_by_{by}", judge)

    def chart(self, name: str = "leaderboard", judge: str | None = None) -> Chart:
        """A chart of the current methods that a notebook draws without another package, with its rows as ``frame``.

        Args:
            name: ``leaderboard`` (overall with intervals), ``price`` (quality against price) or ``dimensions``.
            judge: A judge's name or the beginning of its id; without it the one with the most scored answers.

        Raises:
            UsageError: there is no such chart, the store has no such judge, or no scores.
        """
        if name not in CHARTS:
            raise UsageError(f"no chart {name!r}; there are: {', '.join(CHARTS)}")
        judges = self._frame(sql_text("queries/report", "judges"))
        if judge is not None:
            wanted_judge(self._connection, judge)
            judges = judges.filter((pl.col("judge") == judge) | pl.col("judge_id").str.starts_with(judge))
        if judges.is_empty():
            raise UsageError("no answer has been scored yet by such a judge; `compaction-eval run` does that")
        chosen = judges.row(0, named=True)
        with with_variables(self._connection, {"judge_id": chosen["judge_id"]}):
            frame = self._frame(chart_query(name))
        return make_chart(name, frame, embedded=chosen["judge"] == "embedded")

    def frame(self, relation: str, judge: str | None = None) -> pl.DataFrame:
        """A table or view as a frame.

        Args:
            relation: Its name, as in ``tables``.
            judge: Only rows of this judge, by name or the beginning of its id; for relations with a ``judge_id``.

        Raises:
            UsageError: there is no such relation or judge, or the relation has none.
        """
        columns = [name for name, _, _ in self._columns(relation)]
        query = f'FROM "{relation}"'
        if judge is None:
            return self._frame(query)
        if "judge_id" not in columns:
            raise UsageError(f"{relation} has no judge_id; leave the judge out")
        wanted_judge(self._connection, judge)
        ids = "SELECT judge_id FROM judges WHERE judge = $judge OR starts_with(judge_id, $judge)"
        return self._frame(f"{query} WHERE judge_id IN ({ids})", {"judge": judge})

    def query(self, name: str, judge: str | None = None, **parameters: Any) -> pl.DataFrame:
        """The answer of a ready query.

        Args:
            name: Its name or number, as in ``queries``.
            judge: A judge's name or the beginning of its id; without it every judge, in rows of its own.
            parameters: Of the query, as in ``queries``.

        Raises:
            UsageError: there is no such query, parameter or judge.
        """
        query = ready_query(name)
        values = variables_of(self._connection, query, judge, parameters)
        with with_variables(self._connection, values):
            return self._frame(query.sql)

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The answer of a query of your own; ``$name`` in it stands for a value of ``parameters``.

        It can read what is in the store, and no files.

        Raises:
            UsageError: the query cannot be run.
        """
        return self._frame(query, parameters)

    @property
    def queries(self) -> pl.DataFrame:
        """The ready queries: name, what each answers, and its parameters."""
        rows = [
            {"name": query.name, "title": query.title, "question": query.question, "parameters": list(query.parameters)}
            for query in ready_queries().values()
        ]
        return pl.DataFrame(rows)

    @property
    def tables(self) -> pl.DataFrame:
        """The tables and views, each with the content of a row; the views behind them too, with ``is_inner``."""
        found = pl.DataFrame(list_relations(self._connection), schema=["name", "kind", "comment"], orient="row")
        inner = pl.any_horizontal(*(pl.col("name").str.starts_with(prefix) for prefix in INNER))
        return found.with_columns(inner.alias("is_inner")).sort("is_inner", "kind", "name")

    def describe(self, relation: str) -> pl.DataFrame:
        """The columns of a table or view: name, type and what it is.

        Raises:
            UsageError: there is no such relation.
        """
        return pl.DataFrame(self._columns(relation), schema=["column", "type", "comment"], orient="row")

    @property
    def pandas(self) -> PandasResults:
        """Return the same calls with ``pandas.DataFrame``: ``results.pandas.leaderboard()``.

        Raises:
            Problem: pandas is not installed.
        """
        if find_spec("pandas") is None:
            raise EvalError(
                f"pandas is not installed: {install_extra('pandas')}; without `.pandas` the same calls give "
                "Polars frames"
            )
        return PandasResults(self)

    def close(self) -> None:
        """Close the connection to the store; frames stay."""
        self._connection.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        lines = "\n".join(f"  {query.name:<22}{query.question}" for query in ready_queries().values())
        return (
            f"Results of {self._path.parent}\n"
            ".leaderboard()  .leaderboard(by='task_type')  .chart('price')\n"
            ".tables  .describe('leaderboard')  .frame('paired_differences')  .sql('SELECT …')\n"
            f".query(name), and in a name's place:\n{lines}"
        )

    def _columns(self, relation: str) -> list[tuple[str, str, str | None]]:
        found = self._connection.execute(
            "SELECT column_name, data_type, comment FROM duckdb_columns() "
            "WHERE database_name = 'store' AND schema_name = 'main' AND table_name = $name ORDER BY column_index",
            {"name": relation},
        ).fetchall()
        if not found:
            raise UsageError(
                f"no table or view {relation!r}{did_you_mean(relation, self.tables['name'])}; `tables` lists them"
            )
        return found

    def _frame(self, query: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        show_texts(self._connection, query, self._store.texts)
        frame = pl.from_arrow(query_batches(self._connection, query, parameters).table())
        assert isinstance(frame, pl.DataFrame)
        return frame


class PandasResults:
    """The calls of ``Results`` that give frames, as ``pandas.DataFrame``."""

    def __init__(self, results: Results) -> None:
        """Frames of these results."""
        self._results = results

    def leaderboard(self, judge: str | None = None, by: Split | None = None) -> pd.DataFrame:
        """Return ``Results.leaderboard`` as a pandas frame."""
        return self._results.leaderboard(judge, by).to_pandas()

    def frame(self, relation: str, judge: str | None = None) -> pd.DataFrame:
        """Return ``Results.frame`` as a pandas frame."""
        return self._results.frame(relation, judge).to_pandas()

    def query(self, name: str, judge: str | None = None, **parameters: Any) -> pd.DataFrame:
        """Return ``Results.query`` as a pandas frame."""
        return self._results.query(name, judge, **parameters).to_pandas()

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return ``Results.sql`` as a pandas frame."""
        return self._results.sql(query, parameters).to_pandas()


def open_results(store: str | Path = DEFAULT_STORE) -> Results:
    """Open the results of a store, its folder or its ``scores.duckdb``.

    Raises:
        StoreError: there are no results there.
    """
    return Results(store)
