"""``report``: the store as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import PAGE_BYTES

Language = Literal["en", "zh"]


MaxMb = Annotated[
    float,
    typer.Option(
        "--max-mb",
        metavar="N",
        min=0.1,
        max=2000,
        callback=o.finite,
        help="Size of the page in MB at most; answers are in it as fit.",
    ),
]


@command(
    "report report.html",
    "report report.html --store /data/store --judge openai:gpt-5.2",
    "report baogao.html --lang zh --no-texts",
    order=90,
)
def report(
    out: Annotated[Path, typer.Argument(metavar="OUT.html", help="The file to write; replaced when it is there.")],
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    language: Annotated[Language, typer.Option("--lang", help="The language of the page.")] = "en",
    max_mb: MaxMb = PAGE_BYTES / 1e6,
    no_texts: Annotated[bool, typer.Option("--no-texts", help="Leave texts of sessions and answers out.")] = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Make one self-contained HTML page of a store: figures, charts, and the answers behind them.

    A page is of one judge: without --judge the one with the most scored answers.

    It loads nothing from anywhere, so it can be mailed, kept and opened from disk. It holds texts of sessions: pass it
    on as you would those. Without the package vl-convert-python it has all tables, no charts, and says so.
    """
    from flows.reporting.html import library, write_report
    from flows.support.errors import UsageError
    from flows.support.progress import make_report

    found = o.open_store(store)
    if out.is_dir():
        raise UsageError(f"{out}: this is a folder; name a file to write, such as {out / 'report.html'}")
    try:
        written = write_report(
            found,
            out,
            judge=judge,
            language=language,
            most_bytes=int(max_mb * 1_000_000),
            texts=not no_texts,
            report=make_report(quiet or as_json),
        )
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
    if not written.has_charts:
        print(f"the page has no charts: {library.INSTALL}", file=sys.stderr)  # noqa: T201
    if as_json:
        said = {
            "path": str(written.path),
            "bytes": written.n_bytes,
            "judge_id": written.judge["judge_id"],
            "other_judge_ids": [other["judge_id"] for other in written.other_judges],
            "points_shown": written.n_shown,
            "points": written.n_points,
            "has_charts": written.has_charts,
        }
        o.echo_json(said)
        return
    if quiet:
        return
    judged = f"judge {written.judge['judge']} {written.judge['judge_id'][:8]}"
    shown = "no texts" if no_texts else f"{written.n_shown:,} of {written.n_points:,} points in full"
    o.echo(f"{written.path}: {written.n_bytes / 1e6:.1f} MB, {judged}, {shown}")
    for other in written.other_judges:
        o.echo(f"  not in it: judge {other['judge']}, --judge {other['judge_id'][:8]}")
    o.echo_store(found)
