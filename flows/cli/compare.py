"""``compare``: two methods against each other."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import QUESTIONS, Split


@command(
    "compare mask_sweagent head_tail",
    'compare "openhands_sdk(mode=full_content)" gemini_snapshot --by probe_type',
    "compare none empty --judge embedded --format csv",
    order=80,
)
def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A method, as the leaderboard calls it; a beginning that is unique will do.",
            autocompletion=completing.methods,
        ),
    ],
    b: Annotated[
        str, typer.Argument(metavar="B", help="The method to compare it with.", autocompletion=completing.methods)
    ],
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    by: Annotated[Split | None, typer.Option("--by", help="The same within each part of a split.")] = None,
    questions: Annotated[
        int, typer.Option(metavar="N", min=0, max=10_000, help="Questions to show on which they differ most.")
    ] = QUESTIONS,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Compare two methods on the same questions, dimension by dimension.

    Says by how much A is better than B, how sure that is, and, where no difference is shown, how large one would have
    had to be for this data to show it. Below are the questions on which the two differ most, and what is not
    comparable. docs/comparing.md explains every figure.
    """
    from flows.reporting import comparison

    found = o.open_store(store)
    layout = o.layout(format, as_json)
    o.echo_of(found, comparison.compare(found.database, a, b, judge, by, layout, questions), layout, paged=True)
