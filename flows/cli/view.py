"""``view``: the store in the browser, live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.report import Language
from flows.cli.shared import options as o
from flows.cli.shared.commands import command


@command(
    "view",
    "view /data/store --no-open --port 8899",
    "view --judge openai:gpt-5.2",
    "view my-store --labels ada.csv",
    "view my-store --statements ada-statements.csv",
    order=88,
)
def view(
    location: Annotated[str | None, typer.Argument(metavar="STORE", help="The store, as --store.")] = None,
    store: o.StoreOption = None,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address, and open no browser.")] = False,
    judge: o.JudgeOfStore = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", metavar="FILE.csv", help="Grade answers; the grades are added to this file for `calibrate`."
        ),
    ] = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            "--statements",
            metavar="FILE.csv",
            help="Grade how far contexts still tell single statements; for `calibrate --statements`.",
        ),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="SEED", help="Ask for the grades in another order.")] = None,
    language: Annotated[Language, typer.Option("--lang", help="The language of the page.")] = "en",
) -> None:
    """Look at the whole store in a browser: the page of `report`, with every session, and a page for SQL.

    It listens on this machine alone, and only reads the store. The address that it prints holds a secret that is new
    each time: whoever has it can read the sessions of the store. A run may go on meanwhile; its results are there when
    the page is loaded again. Ctrl-C ends it.
    """
    from flows.support.errors import UsageError
    from flows.viewing.grading import AnswerGrading, Grading, StatementGrading
    from flows.viewing.live_store import LiveStore
    from flows.viewing.server import serve

    if labels and statements:
        raise UsageError("give either --labels or --statements; a page asks for one kind of grades")
    found = o.open_store(location or store)
    live = LiveStore(found, judge, language)
    live.page()  # what is wrong with the store, the judge or the file is said before anything listens
    grading: Grading | None = None
    if labels:
        grading = AnswerGrading(live, found, labels, seed)
    elif statements:
        grading = StatementGrading(live, found, statements, seed)
    serve(live, port, o.echo, opens=not no_open, grading=grading)
