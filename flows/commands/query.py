"""``query`` and ``export``: the ready queries, and results as files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from flows.arrow import batches
from flows.commands import completing
from flows.commands import options as o
from flows.database import TEXTS, connect, show_texts
from flows.export import Exported, FileFormat, format_of, refuse_to_overwrite, target_of, write
from flows.leaderboard import render_query
from flows.printing import WIDTH, Format, Rows, drawn, markdown, written
from flows.problems import UsageProblem, closest
from flows.progress import make_report
from flows.queries import ReadyQuery, ready_queries, ready_query, variables_of, with_variables
from flows.store import Store
from flows.study import DEFAULT_STORE

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the query; repeat it.", show_default=False),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file instead; .parquet, .csv, .json or .md says the format.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="In CSV, put ' before texts that a spreadsheet would take for a formula. Transcripts can hold such texts.",
    ),
]


@o.reporting
def query(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name or number of a query; without one they are listed.",
            show_default=False,
            autocompletion=completing.queries,
        ),
    ] = None,
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    set_: Set = None,
    format: o.FormatOption = "table",
    output: Output = None,
    force: Force = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the query itself with its explanation, and do not run it.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Answer one of ten questions that results are asked most.

    Without a name it lists them. Each is a file of sql/queries that runs as it stands, in DuckDB too.
    """
    shown: Format = "json" if as_json else format
    if name is None:
        o.echo(_listed(shown))
        return
    chosen = ready_query(name)
    if show:
        o.echo_json(asdict(chosen)) if as_json else o.echo(chosen.sql)
        return
    found = Store.open(store or DEFAULT_STORE)
    given = _parsed(set_ or ())
    with connect(found.database) as connection:
        values = variables_of(connection, chosen, judge, given)
        if output is not None:
            with with_variables(connection, values):
                report_written([_written(connection, chosen.name, chosen.sql, output, force)], as_json=as_json)
            return
    text = render_query(found.database, chosen.sql, shown, values)
    o.echo(_with_head(chosen, text) if shown == "table" else text)


@o.reporting
def export(
    relation: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RELATION",
            help="Tables and views to write.",
            show_default=False,
            autocompletion=completing.relations,
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help="A folder; or a file for a single relation, whose ending says the format.",
            show_default=False,
        ),
    ] = Path("."),
    all_: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All tables and views, without the inner ones (stg_, int_, agg_, check_) and the texts "
            "(messages, contexts).",
        ),
    ] = False,
    query: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            metavar="NAME",
            help="The answer of a ready query; repeat it.",
            show_default=False,
            autocompletion=completing.queries,
        ),
    ] = None,
    format: Annotated[
        FileFormat | None, typer.Option("--format", help="Format of the files (default: parquet)", show_default=False)
    ] = None,
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Write tables, views or answers of the ready queries to files.

    Rows are streamed, so that a table need not fit into memory, and a file appears when it is complete. Parquet keeps
    all types; CSV and Markdown have lists and structs as JSON text. Times are in UTC.
    """
    found = Store.open(store or DEFAULT_STORE)
    chosen = format_of(output, format)
    if spreadsheet_safe and chosen != "csv":
        raise UsageProblem(f"--spreadsheet-safe is for CSV, and the format is {chosen}")
    queries = [ready_query(name) for name in query or ()]
    with connect(found.database) as connection:
        relations = _relations(connection, relation or (), all_)
        if relations and judge is not None:
            raise UsageProblem("--judge is for --query; for a view: compaction-eval sql … --output FILE")
        texts = [*((name, f'FROM "{name}"') for name in relations), *((ready.name, ready.sql) for ready in queries)]
        show_texts(connection, " ".join(relations), found.texts)
        targets = _targets([name for name, _ in texts], output, chosen, force)
        values = variables_of(connection, queries[0], judge, {}) if queries else {}
        files: list[Exported] = []
        told = make_report(quiet or as_json)
        with with_variables(connection, values), told.stage("export", len(texts), "files") as shown:
            for (name, text), target in zip(texts, targets, strict=True):
                files.append(write(name, batches(connection, text), target, chosen, spreadsheet_safe))
                shown.advance(1)
    report_written(files, as_json=as_json)


def _targets(names: Sequence[str], output: Path, format: FileFormat, force: bool) -> list[Path]:
    if not names:
        raise UsageProblem("say what to export: names of tables and views, --query NAME, or --all")
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise UsageProblem(f"{doubled[0]} would be written twice: a view and a query of that name, or one repeated")
    targets = [target_of(output, name, format, len(names) == 1) for name in names]
    if not force:
        refuse_to_overwrite(targets)
    return targets


def write_query(store: Store, text: str, output: Path, force: bool) -> Exported:
    """Write the answer of a user's own query to a file."""
    with connect(store.database) as connection:
        show_texts(connection, text, store.texts)
        return _written(connection, "the answer", text, output, force)


def _written(connection: duckdb.DuckDBPyConnection, name: str, text: str, output: Path, force: bool) -> Exported:
    target = target_of(output, name, format_of(output, None), alone=True)
    if not force:
        refuse_to_overwrite([target])
    return write(name, batches(connection, text), target, format_of(target, None))


def report_written(files: Sequence[Exported], *, as_json: bool) -> None:
    """Say what was written."""
    if as_json:
        rows = [
            {"relation": one.relation, "path": str(one.path), "rows": one.rows, "bytes": one.n_bytes}
            for one in files
        ]  # fmt: skip
        o.echo_json(rows)
        return
    for one in files:
        o.echo(f"{one.path}: {one.rows:,} rows, {one.n_bytes:,} bytes")


def _relations(connection: duckdb.DuckDBPyConnection, names: Sequence[str], every: bool) -> list[str]:
    found = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store' UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE database_name = 'store' AND NOT internal ORDER BY 1"
    ).fetchall()
    known = [name for (name,) in found]
    for name in names:
        if name not in known:
            raise UsageProblem(
                f"no table or view {name!r} in this store{closest(name, known)}; compaction-eval export --all writes "
                "those that there are"
            )
    inner = ("stg_", "int_", "agg_", "check_")
    wanted = (name for name in known if every and name not in TEXTS and not name.startswith(inner))
    return list(dict.fromkeys([*names, *wanted]))


def _parsed(given: Sequence[str]) -> dict[str, str]:
    values = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageProblem(f"--set wants NAME=VALUE, and got {item!r}")
        values[name.strip()] = value.strip()
    return values


def _listed(format: Format) -> str:
    names = ["number", "name", "title", "question", "parameters"]
    rows = [
        (query.number, query.name, query.title, query.question, ", ".join(query.parameters))
        for query in ready_queries().values()
    ]
    if format in ("csv", "json"):
        return written(Rows(names, rows), format)
    cells = [[str(number), name, question] for number, name, _, question, _ in rows]
    numeric = [True, False, False]
    if format == "markdown":
        return markdown(["", "query", "question"], [[n, f"`{name}`", q] for n, name, q in cells], numeric)
    table = drawn(["", "query", "question"], cells, numeric, width=WIDTH)
    return f"{table}\ncompaction-eval query NAME runs one; --show prints it with its parameters and columns.\n"


def _with_head(query: ReadyQuery, text: str) -> str:
    notes = [textwrap.fill(part, WIDTH) for part in query.reading.split("\n\n") if part]
    return "\n".join([f"{query.title}: {query.question}", "", text.rstrip("\n"), "", *notes, ""])
