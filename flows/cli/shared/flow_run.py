"""Run a flow under Prefect for a command, and print the outcome of the run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import typer

from flows.cli.shared import options as o
from flows.database.sql_model import empty_database, schemas
from flows.execution.prefect_server import prefect_api, prepare
from flows.execution.run import Run
from flows.pipeline.load.nights import note_reported
from flows.reporting.leaderboard import render
from flows.reporting.night_changes import changes_since_report, format_worse
from flows.reporting.text_tables import Layout
from flows.support.errors import BROKEN, DONE, WORSE


def run_flow(active: Run, flow: Callable[[Run], Coroutine[Any, Any, None]], *, ephemeral: bool, verbose: bool) -> None:
    """Run a flow under Prefect, and record it if it fails. ``flow`` imports it late: Prefect must be set up before."""
    prepare(verbose)  # before the workers, which take it over
    _ = active.workers  # they start up while Prefect is imported
    with ThreadPoolExecutor(1) as beside:
        for needed in (empty_database, schemas):  # by the load; to make them takes as long as the imports
            beside.submit(needed)
        with prefect_api(
            import_flows=import_flows, ephemeral=ephemeral, verbose=verbose, of_cluster=active.study.on_cluster
        ) as run:
            try:
                run(flow(active))
            except BaseException:
                active.record("failed", BROKEN)
                raise


def import_flows() -> None:
    """Import all flows, and Prefect with them."""
    import flows.evaluate  # noqa: F401 (Prefect reads its settings when it is imported)


def print_outcome(
    run: Run, *, quiet: bool, as_json: bool, nothing_to_do: bool, fail_if_worse: float | None = None
) -> None:
    """Print the summary and the leaderboard of a run that has ended, then exit."""
    store, summary = run.store, run.summary()
    worse = [] if fail_if_worse is None else _format_worse(run, fail_if_worse)
    if as_json:
        board = json.loads(render(store.database, None, Layout("json")))
        content = {"summary": summary.as_dict(), "nothing_to_do": nothing_to_do, "leaderboard": board, "worse": worse}
        o.echo_json({**content, "store": store.name})
    else:
        lines = ["nothing to do: everything that this study asks for is in the store"] if nothing_to_do else []
        lines += summary.lines()
        if not quiet:
            print("\n".join(lines), file=sys.stderr)  # noqa: T201
        elif summary.exit_code != DONE:
            print("\n".join(lines[-(len(summary.problems) + bool(summary.stopped)) or None :]), file=sys.stderr)  # noqa: T201
        if summary.counts["points"]:
            layout = o.layout(most=o.MOST_METHODS, more="leaderboard --wide")
            o.echo_of(store, render(store.database, layout=layout), layout)
        else:
            o.echo_store(store)
        if worse:
            print(f"worse by more than {fail_if_worse:g}: {', '.join(worse)}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(WORSE if worse else summary.exit_code)


def _format_worse(run: Run, threshold: float) -> list[str]:
    """The methods that got worse since the last report, in words; marks them as reported."""
    moved = changes_since_report(run.store, run.study.study_key)
    note_reported(run.store, run.study.study_key, moved.told(threshold))
    return [format_worse(row, threshold) for row in moved.worse(threshold)]
