"""``describe``: what the code says of a name."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command


@command(
    "describe head_tail",
    "describe paired_differences",
    "describe schema > schema.md",
    order=195,
)
def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="A strategy, rubric, ready query, table, view or command; or a page with all of them: methods, "
            "rubric, queries, schema, command.",
        ),
    ],
    as_json: o.AsJson = False,
) -> None:
    """Print what a name means, as Markdown: parameters, criteria, columns or options.

    It needs no store. Where a name means several things (leaderboard is a view, a query and a command), all are
    printed.
    """
    from flows.cli.pages.docs_pages import find_sections

    found = find_sections(name)
    if as_json:
        o.echo_json([{"page": page, "name": name, "text": text} for page, text in found.items()])
    else:
        o.echo("\n".join(found.values()))
