"""``query`` and ``export``: the ready queries, and results as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import FileFormat

if TYPE_CHECKING:
    from flows.database.ready_queries import ReadyQuery
    from flows.reporting.export import ExportedFile
    from flows.reporting.text_tables import Layout


Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the query; repeat it.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to this file instead; .parquet, .csv, .json or .md says the format.",
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


@command(
    "query",
    "query weakest_dimension",
    "query worst_answers --judge embedded --set rows=3 --set method=head_tail",
    "query sure_differences --output pairs.parquet",
    order=130,
)
def query(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name or number of a query; without one they are listed.", autocompletion=completing.queries
        ),
    ] = None,
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    set_: Set = None,
    wide: o.Wide = False,
    format: o.FormatOption = "table",
    output: Output = None,
    force: Force = False,
    show: Annotated[
        bool, typer.Option("--show", help="Print the query itself with its explanation, and do not run it.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Answer one of ten questions that results are asked most.

    Without a name it lists them. Each is a file of sql/queries/ready that runs as it stands, in DuckDB too. A table
    has no ids and two decimals; --wide and the other formats have all.
    """
    from flows.cli.shared.query_files import print_exported, write_answer
    from flows.database.query_variables import variables_of, with_variables
    from flows.database.ready_queries import ready_query
    from flows.database.scores_db import connect
    from flows.reporting.query_result import render_query

    layout = o.layout(format, as_json, wide=wide, more="--wide")
    if name is None:
        o.echo(_list_queries(o.layout(format, as_json)))
        return
    chosen = ready_query(name)
    if show:
        o.echo_json(asdict(chosen)) if as_json else o.echo(chosen.sql)
        return
    found = o.open_store(store)
    given = _parse_settings(set_ or ())
    with connect(found.database) as connection:
        values = variables_of(connection, chosen, judge, given)
        if output is not None:
            with with_variables(connection, values):
                written = [write_answer(connection, chosen.name, chosen.sql, output, force)]
            print_exported(found, written, as_json=as_json)
            return
    text = render_query(found.database, chosen.sql, layout, values, brief=not wide)
    o.echo_of(found, _with_head(chosen, text, layout) if layout.format == "table" else text, layout, paged=True)


Relation = Annotated[
    list[str] | None,
    typer.Argument(metavar="RELATION", help="Tables and views to write.", autocompletion=completing.relations),
]
Target = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR|FILE",
        help="A folder; or a file for a single relation, whose ending says the format.",
        show_default=False,
    ),
]
All = Annotated[
    bool,
    typer.Option(
        "--all",
        help="All tables and views, without the inner ones (stg_, int_, agg_, check_) and the texts "
        "(messages, contexts).",
    ),
]
Query = Annotated[
    list[str] | None,
    typer.Option(
        "--query", metavar="NAME", help="The answer of a ready query; repeat it.", autocompletion=completing.queries
    ),
]
Format = Annotated[FileFormat | None, typer.Option("--format", help="Format of the files (default: parquet)")]


@command(
    "export leaderboard paired_differences --output results/",
    "export answers --output answers.csv --spreadsheet-safe",
    "export --query leaderboard --query gaps --format markdown --output paper/",
    "export --all --output parquet/",
    order=140,
)
def export(
    relation: Relation = None,
    output: Target = Path("."),
    all_: All = False,
    query: Query = None,
    format: Format = None,
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
    from flows.cli.shared.query_files import export_targets, print_exported, relations_of
    from flows.database.arrow_batches import query_batches
    from flows.database.query_variables import variables_of, with_variables
    from flows.database.ready_queries import ready_query
    from flows.database.scores_db import connect, show_texts
    from flows.reporting.export import choose_format, write_rows
    from flows.support.errors import UsageError
    from flows.support.progress import make_report

    found = o.open_store(store)
    chosen = choose_format(output, format)
    if spreadsheet_safe and chosen != "csv":
        raise UsageError(f"--spreadsheet-safe is for CSV, and the format is {chosen}")
    queries = [ready_query(name) for name in query or ()]
    with connect(found.database) as connection:
        relations = relations_of(connection, relation or (), all_)
        if relations and judge is not None:
            raise UsageError("--judge is for --query; for a view: compaction-eval sql … --output FILE")
        texts = [*((name, f'FROM "{name}"') for name in relations), *((ready.name, ready.sql) for ready in queries)]
        show_texts(connection, " ".join(relations), found.texts)
        targets = export_targets([name for name, _ in texts], output, chosen, force)
        values = variables_of(connection, queries[0], judge, {}) if queries else {}
        files: list[ExportedFile] = []
        told = make_report(quiet or as_json)
        with with_variables(connection, values), told.stage("export", len(texts), "files") as shown:
            for (name, text), target in zip(texts, targets, strict=True):
                files.append(write_rows(name, query_batches(connection, text), target, chosen, spreadsheet_safe))
                shown.advance(1)
    print_exported(found, files, as_json=as_json)


def _parse_settings(given: Sequence[str]) -> dict[str, str]:
    from flows.support.errors import UsageError

    values = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--set wants NAME=VALUE, and got {item!r}")
        values[name.strip()] = value.strip()
    return values


def _list_queries(layout: Layout) -> str:
    from flows.database.ready_queries import ready_queries
    from flows.reporting.text_tables import Rows, render_rows

    names = ["number", "name", "title", "question", "parameters"]
    rows = [
        (query.number, query.name, query.title, query.question, ", ".join(query.parameters))
        for query in ready_queries().values()
    ]
    if layout.is_data:
        return render_rows(Rows(names, rows), layout.format)
    mark = "`" if layout.format == "markdown" else ""
    cells = [[str(number), f"{mark}{name}{mark}", question] for number, name, _, question, _ in rows]
    table = layout.table(["", "query", "question"], cells, [True, False, False])
    if layout.format == "markdown":
        return table
    return f"{table}\ncompaction-eval query NAME runs one; --show prints it with its parameters and columns.\n"


def _with_head(query: ReadyQuery, text: str, layout: Layout) -> str:
    notes = [layout.note(part) for part in query.reading.split("\n\n") if part]
    head = layout.note(f"{query.title}: {query.question}")
    return "\n".join([head, text.rstrip("\n"), "", *notes, ""])
