"""``calibrate``: the judge against people."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows.calibration import draw_sample, known_to, study_of, write_contexts
from flows.calibration_report import report
from flows.commands import completing
from flows.commands import options as o
from flows.files import write_output
from flows.label_sheet import guide, read_sheet, written
from flows.labels import add_labels
from flows.makers import Makers
from flows.problems import UsageProblem
from flows.progress import Report, make_report
from flows.store import Store
from flows.study import DEFAULT_STORE, Study
from flows.tables import STEPS, rebuild


@o.reporting
def calibrate(
    labels: Annotated[
        Path | None,
        typer.Argument(metavar="LABELS.csv", help="A filled-in sheet; may be half filled.", show_default=False),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", metavar="N", min=1, max=10**6, help="Draw a sheet of N answers to label.", show_default=False
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", metavar="FILE.csv", help="Where to write the sheet.")] = Path(
        "labels.csv"
    ),
    seed: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Draw others than the store's own.", show_default=False)
    ] = None,
    with_context: Annotated[
        bool,
        typer.Option(
            "--with-context",
            help="Write the compacted contexts beside the sheet, as a judge is shown them. Not by default: how "
            "much is left tells the method.",
        ),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="One judge only, by name or id; with --sample the one whose scores make the bands.",
            show_default=False,
            autocompletion=completing.judges,
        ),
    ] = None,
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who labelled rows that do not say so.", show_default=False),
    ] = None,
    store: o.StoreOption = None,
    format: o.FormatOption = "table",
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Set the judge against people: draw a sheet, take up labels, report agreement, bias and the corrected leaderboard.

    First --sample N: a blind sheet of answers, stratified by method, probe type and the judge's score, in random order,
    with the anchors of the rubric beside it. Then LABELS.csv, as often as it grows: a later import of a rater takes the
    place of what that rater said of the same answers, and nothing is stored while a row is wrong. With neither it
    reports on the labels that the store has.
    """
    found = Store.open(store or DEFAULT_STORE)
    told = make_report(quiet or as_json)
    if sample is not None:
        if labels is not None:
            raise UsageProblem(f"either {labels} is read, or --sample draws a sheet, not both; leave one away")
        with found.locked("calibrate"):
            study = study_of(found)
            _draw(found, study, sample, output, seed, judge, rater, with_context=with_context, as_json=as_json)
            _rebuild(found, study, told)
        return
    if labels is not None:
        with found.locked("calibrate"):
            study = study_of(found)
            taken = read_sheet(labels, known_to(found), rater)
            if not taken:
                raise UsageProblem(f"{labels}: no row has a score; expected numbers from 0 to 5 under the criteria")
            added = add_labels(found, taken, datetime.now(UTC).replace(tzinfo=None))
            if added.new or added.replaced:
                _rebuild(found, study, told)
        print(  # noqa: T201
            f"{labels}: {added.new:,} answers newly labelled, {added.replaced:,} replaced, {added.unchanged:,} known",
            file=sys.stderr,
        )
    o.echo(report(found.database, judge, "json" if as_json else format))


def _rebuild(store: Store, study: Study, told: Report) -> None:
    with told.stage("load", STEPS, "steps") as shown:
        rebuild(store, study, makers=Makers.noted(store), is_whole_store=True, stepped=lambda: shown.advance(1))


def _draw(
    store: Store, study: Study, number: int, output: Path, seed: str | None, judge: str | None, rater: str | None, *,
    with_context: bool, as_json: bool,
) -> None:  # fmt: skip
    if output.exists():
        raise UsageProblem(f"{output} is there already and may hold labels; name another file with --output")
    drawn = draw_sample(store, study, number, judge, seed)
    items = drawn.items
    if with_context:
        items = write_contexts(store, study, drawn, output.with_suffix(".contexts"))
    rubric = output.with_suffix(".rubric.md")
    write_output(output, written(items, [one.id for one in drawn.criteria], drawn.sample_id, rater or ""))
    write_output(rubric, guide(drawn.criteria, drawn.asked, drawn.rubric, with_context=with_context).encode())
    content = {
        "sample": drawn.sample_id, "answers": len(items), "of": drawn.n_candidates, "judge": drawn.judge,
        "judge_id": drawn.judge_id, "sheet": str(output), "rubric": str(rubric),
    }  # fmt: skip
    if as_json:
        o.echo_json(content)
        return
    o.echo(
        f"{output}: {len(items):,} of {drawn.n_candidates:,} answers to label (sample {drawn.sample_id}, bands by "
        f"judge {drawn.judge} {drawn.judge_id}); score by {rubric}, then: "
        f"compaction-eval calibrate {output} --rater NAME"
    )
