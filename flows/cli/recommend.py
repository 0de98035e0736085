"""``recommend``: which method to take."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import PRICE_LIST


@command(
    "recommend --baseline codex_local",
    "recommend --baseline codex_local --min-retention 0.9 --max-tokens 20000",
    "recommend --max-cost 0.5 --price-list openai:gpt-5-mini",
    "recommend --json",
    order=85,
)
def recommend(
    store: o.StoreOption = None,
    judge: o.JudgeOfStore = None,
    baseline: o.Baseline = None,
    min_retention: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            callback=o.finite,
            help="Share of the history's worth that a method has to keep, 0 to 1.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=10**9,
            help="Mean tokens that a question may be answered from.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="USD",
            min=0,
            max=10**9,
            callback=o.finite,
            help="US dollars that a session may cost on average; known of sessions that --replay of run replayed.",
        ),
    ] = None,
    price_list: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="The model at whose prices a session is reckoned, of the table price_lists.",
        ),
    ] = PRICE_LIST,
    allow_lost_constraints: Annotated[
        bool, typer.Option("--allow-lost-constraints", help="Recommend methods that lose constraints, too.")
    ] = False,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
) -> None:
    """Say which method to take instead of the one in use, and how sure that is.

    Three sentences and up to five rows: the best, the best for its tokens, the cheapest that is shown to be as good as
    the baseline, and what the data cannot tell. Without --baseline it is a method in most sessions.
    """
    from flows.reporting import recommendation

    found = o.open_store(store)
    layout = o.layout(format, as_json, more="--json")
    wanted = recommendation.Wanted(
        baseline, min_retention, max_tokens, max_cost, price_list, allows_lost_constraints=allow_lost_constraints
    )
    o.echo_of(found, recommendation.recommend(found.database, wanted, judge, layout), layout)
