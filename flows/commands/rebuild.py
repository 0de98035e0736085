"""``rebuild``: the results anew from the files that they were made of."""

from __future__ import annotations

import sys
from dataclasses import replace
from time import perf_counter

from flows import tables
from flows.commands import options as o
from flows.database import connect
from flows.journal import export_calls
from flows.makers import Makers, study_of_results
from flows.progress import make_report
from flows.runtime import running
from flows.store import Store
from flows.study import DEFAULT_STORE, Study, make_study


@o.reporting
def rebuild(
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Make scores.duckdb anew from the store's Parquet files.

    Nothing is worked out or paid for again. It shows the study that was shown last, or that of the latest run, or the
    one that is given; its results are shown as they are, by whatever version of the code they were made. It brings a
    store that an earlier version made to the format of this one.
    """
    target = Store.brought_up(store or DEFAULT_STORE)
    chosen = _given(target, study) if study else study_of_results(target)
    chosen = replace(chosen, store=target.name, tokenizer=target.settings["tokenizer"])
    start = perf_counter()
    with running(chosen, make_report(quiet or as_json), what="rebuild", is_whole_store=True) as active:
        export_calls(target)
        with active.report.stage("rebuild", tables.STEPS, "steps") as shown:
            makers = Makers.of_results(target, chosen)
            tables.rebuild(
                target, chosen, makers=makers, is_whole_store=study is None, stepped=lambda: shown.advance(1)
            )
    counts = _counts(target)
    if as_json:
        content = {"store": target.name, "study": chosen.as_dict(), "counts": counts}
        o.echo_json(content)
    elif not quiet:
        found = ", ".join(f"{number:,} {name}" for name, number in counts.items())
        print(f"{target.database}: {found}, in {perf_counter() - start:.1f} s", file=sys.stderr)  # noqa: T201


def _given(store: Store, path: str) -> Study:
    """A study file's study. Raises UsageProblem when it counts tokens otherwise than the store."""
    study = make_study({"store": store.name}, path)
    Store.create(study.store, study.tokenizer)  # says so, as a run would
    return study


def _counts(store: Store) -> dict[str, int]:
    names = ("sessions", "points", "methods", "compactions", "probes", "answers", "scores")
    with connect(store.database) as connection:
        return {name: len(connection.table(name)) for name in names}
