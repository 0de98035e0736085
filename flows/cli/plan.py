"""``plan``: the work and the cost of a run, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import ALL, Given, takes_study

if TYPE_CHECKING:
    from flows.dry_run import RunPlan
    from flows.llm.call_recorder import Line
    from flows.store.store import Store


@command(
    "plan ~/.claude/projects --model openai:gpt-5.2-mini --judge openai:gpt-5.2",
    "plan --study study.toml --json",
    order=30,
)
@takes_study(*ALL)
def plan(
    given: Given,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Say what `run` would do: items and model calls by stage, how many are cached, tokens, cost, time.

    Takes the options of `run`. Nothing is called, nothing is changed, no key is needed: the stages run over a temporary
    store, with answers from the call cache and fillers where it has none.
    """
    import asyncio

    from flows.dry_run import forecast
    from flows.execution.prefect_server import prepare
    from flows.pipeline.plan import check_sources
    from flows.store.store import Store
    from flows.support.errors import DONE
    from flows.support.progress import make_report

    effective = given.study()
    check_sources(effective)
    prepare(verbose)
    found = asyncio.run(forecast(effective, make_report(quiet or as_json)))
    if not (effective.sources or as_json):
        o.echo("sources: the sample sessions of the package")
    print_plan(found, Store.at(effective.store), as_json)
    raise typer.Exit(DONE)


def print_plan(found: RunPlan, store: Store, as_json: bool) -> None:
    """Print a plan for a store."""
    if as_json:
        o.echo_json({**found.as_dict(), "store": store.name})
        return
    o.echo("to do: " + (", ".join(f"{stage} {n:,}" for stage, n in found.items.items() if n) or "nothing"))
    if found.lines:
        names = (
            "stage",
            "model",
            "calls",
            "cached",
            "to pay",
            "tokens sent",
            "of them cached",
            "received",
            "cost",
            "at most",
            "time",
        )
        cells = list(map(_cells, found.lines))
        o.echo(o.layout(more="--json").table(names, cells, [name not in names[:2] for name in names]))
    else:
        o.echo("model calls: none")
    o.echo(f"time: about {found.seconds:,.0f} s beside the calls, then measures and the load")
    for note in found.notes:
        o.echo(note)
    o.echo_store(store)


def _cells(line: Line) -> list[str]:
    return [
        line.stage,
        line.model,
        f"{line.calls:,}",
        f"{line.cached:,}",
        f"{line.to_pay:,}",
        f"{line.input_tokens:,}",
        f"{line.cached_input_tokens:,}",
        f"{line.output_tokens:,}",
        _format_usd(line.cost_usd),
        _format_usd(line.most_usd),
        "unknown" if line.seconds is None else f"{line.seconds:,.0f} s",
    ]


def _format_usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.2f}"
