"""``rebuild``: the results anew from the files that they were made of."""

from __future__ import annotations

import sys
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command

if TYPE_CHECKING:
    from flows.config.study import Study
    from flows.store.store import Store


@command(
    "rebuild",
    "rebuild --store /data/store --study study.toml",
    order=60,
)
def rebuild(
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Make scores.duckdb anew from the store's Parquet files.

    Nothing is worked out or paid for again. It shows the study that was shown last, or that of the latest run, or the
    one that is given, with the results as they are. Exit code 3 when checks of the results do not hold; they are named.
    """
    from flows.execution.run import running
    from flows.pipeline.load.provenance import Provenance, study_of_results
    from flows.pipeline.load.tables import rebuild_database, stored_violations
    from flows.pipeline.run_summary import Summary, failed_checks
    from flows.store.call_journal import export_calls
    from flows.support.progress import make_report

    target = o.open_store(store)
    chosen = _read_study(target, study) if study else study_of_results(target)
    chosen = replace(chosen, store=target.name, tokenizer=target.settings["tokenizer"])
    start = perf_counter()
    with running(chosen, make_report(quiet or as_json), what="rebuild", is_whole_store=True) as active:
        export_calls(target)
        makers = Provenance.of_results(target, chosen)
        rebuild_database(target, chosen, makers=makers, is_whole_store=study is None, report=active.report)
    broken = stored_violations(target)
    outcome = Summary(_counts(target), tuple(failed_checks(broken)))
    if as_json:
        content = {
            "store": target.name,
            "study": chosen.as_dict(),
            "counts": outcome.counts,
            "violations": dict(broken),
        }
        o.echo_json(content)
    elif not quiet:
        made = f"{target.database}, made in {perf_counter() - start:.1f} s"
        print("\n".join([made, *outcome.lines()]), file=sys.stderr)  # noqa: T201
    raise typer.Exit(outcome.exit_code)


def _read_study(store: Store, path: str) -> Study:
    """The study of a file. Raises UsageError if its tokenizer is not the store's."""
    from flows.config.study import make_study
    from flows.store.store import Store

    study = make_study({"store": store.name}, path)
    Store.create(study.store, study.tokenizer)  # says so, as a run would
    return study


def _counts(store: Store) -> dict[str, int]:
    from flows.database.scores_db import connect

    names = ("sessions", "points", "methods", "compactions", "probes", "answers", "scores")
    with connect(store.database) as connection:
        return {name: len(connection.table(name)) for name in names}
