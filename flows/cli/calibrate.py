"""``calibrate``: the judge against people, and the embedded engine against careful readers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.plurals import quantity

if TYPE_CHECKING:
    from flows.config.study import Study
    from flows.reporting.text_tables import Layout
    from flows.store.store import Store
    from flows.support.progress import Report


Labels = Annotated[Path | None, typer.Argument(metavar="LABELS.csv", help="A filled-in sheet; may be half filled.")]
Sample = Annotated[
    int | None, typer.Option("--sample", metavar="N", min=1, max=10**6, help="Draw a sheet of N answers to label.")
]
Seed = Annotated[str | None, typer.Option(metavar="SEED", help="Draw others than the store's own.")]
WithContext = Annotated[
    bool,
    typer.Option(
        "--with-context",
        help="Write the compacted contexts beside the sheet, as a judge is shown them. Not by default: how "
        "much is left tells the method.",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        metavar="ID",
        help="One judge only, by name or id; with --sample the one whose scores make the bands.",
        autocompletion=completing.judges,
    ),
]
Rater = Annotated[str | None, typer.Option(metavar="NAME", help="Who labelled rows that do not say so.")]
Statements = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels of true statements; prints how far the embedded engine agrees. JSON lines of readers need no "
        "store; FILE.csv is what `view --statements` wrote.",
    ),
]
Answers = Annotated[Path | None, typer.Option(metavar="FILE.jsonl", help="The same of readers' graded answers.")]
Contexts = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE.jsonl",
        help="The contexts that were read; may be given several times. [default: the file's name with _contexts]",
    ),
]
Output = Annotated[Path, typer.Option("--output", metavar="FILE.csv", help="Where to write the sheet.")]


@command(
    "calibrate --sample 100 --output labels.csv",
    "calibrate labels.csv --rater ada",
    "calibrate --judge embedded --format markdown",
    "calibrate --statements facts.jsonl --contexts facts_contexts.jsonl.gz",
    order=150,
)
def calibrate(
    labels: Labels = None,
    sample: Sample = None,
    output: Output = Path("labels.csv"),
    seed: Seed = None,
    with_context: WithContext = False,
    judge: Judge = None,
    rater: Rater = None,
    statements: Statements = None,
    answers: Answers = None,
    contexts: Contexts = None,
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
    from flows.reporting.calibration import report
    from flows.store.human_labels import add_labels
    from flows.support.errors import UsageError
    from flows.support.progress import make_report
    from flows.validation.calibration import label_targets, study_of_results
    from flows.validation.label_sheet import read_sheet

    if statements and answers:
        raise UsageError("give either --statements or --answers; their figures have different scales")
    if given := statements or answers:
        o.echo(_agree(given, contexts or [], o.layout(format, as_json), store, is_answers=answers is not None))
        return
    found = o.open_store(store)
    told = make_report(quiet or as_json)
    if sample is not None:
        if labels is not None:
            raise UsageError(f"either {labels} is read, or --sample draws a sheet, not both; leave one away")
        with found.locked("calibrate"):
            study = study_of_results(found)
            _draw(found, study, sample, output, seed, judge, rater, with_context=with_context, as_json=as_json)
            _rebuild(found, study, told)
        return
    if labels is not None:
        with found.locked("calibrate"):
            study = study_of_results(found)
            taken = read_sheet(labels, label_targets(found), rater)
            if not taken:
                raise UsageError(f"{labels}: no row has a score; expected numbers from 0 to 5 under the criteria")
            added = add_labels(found, taken, datetime.now(UTC).replace(tzinfo=None))
            if added.new or added.replaced:
                _rebuild(found, study, told)
        known = f"{added.replaced:,} replaced, {added.unchanged:,} known"
        print(f"{labels}: {quantity(added.new, 'answer')} newly labelled, {known}", file=sys.stderr)  # noqa: T201
    layout = o.layout(format, as_json)
    o.echo_of(found, report(found.database, judge, layout), layout)


def _agree(labels: Path, contexts: Sequence[Path], layout: Layout, store: str | None, *, is_answers: bool) -> str:
    from flows.database.scores_db import connect
    from flows.reporting.reader_agreement import format_agreement
    from flows.support.errors import UsageError
    from flows.validation.reader_labels import pair_answers, pair_statements, read_contexts
    from flows.validation.statement_labels import pair_grades

    pair, scale = (pair_answers, 5.0) if is_answers else (pair_statements, 1.0)
    if labels.suffix == ".csv" and not is_answers:
        with connect(o.open_store(store).database) as connection:
            pairs = pair_grades(labels, connection)
    else:
        pairs = pair(labels, read_contexts(contexts or [labels.with_name(f"{labels.stem}_contexts.jsonl.gz")]))
    if not pairs:
        raise UsageError(f"{labels}: no row of a true statement or an answer; see docs/calibration.md")
    return format_agreement(pairs, scale, layout)


def _rebuild(store: Store, study: Study, told: Report) -> None:
    from flows.pipeline.load.provenance import Provenance
    from flows.pipeline.load.tables import rebuild_database

    rebuild_database(store, study, makers=Provenance.noted(store), is_whole_store=True, report=told)


def _draw(
    store: Store,
    study: Study,
    number: int,
    output: Path,
    seed: str | None,
    judge: str | None,
    rater: str | None,
    *,
    with_context: bool,
    as_json: bool,
) -> None:
    from flows.support.atomic_files import write_output
    from flows.support.errors import UsageError
    from flows.validation.calibration import draw_sample, write_contexts
    from flows.validation.label_sheet import format_guide, format_sheet

    if output.exists():
        raise UsageError(f"{output} is there already and may hold labels; name another file with --output")
    drawn = draw_sample(store, study, number, judge, seed)
    items = drawn.items
    if with_context:
        items = write_contexts(store, study, drawn, output.with_suffix(".contexts"))
    rubric = output.with_suffix(".rubric.md")
    write_output(output, format_sheet(items, [one.id for one in drawn.criteria], drawn.sample_id, rater or ""))
    write_output(rubric, format_guide(drawn.criteria, drawn.asked, drawn.rubric, with_context=with_context).encode())
    content = {
        "sample": drawn.sample_id,
        "answers": len(items),
        "of": drawn.n_candidates,
        "judge": drawn.judge,
        "judge_id": drawn.judge_id,
        "sheet": str(output),
        "rubric": str(rubric),
    }
    if as_json:
        o.echo_json(content)
        return
    o.echo(
        f"{output}: {len(items):,} of {drawn.n_candidates:,} answers to label (sample {drawn.sample_id}, bands by "
        f"judge {drawn.judge} {drawn.judge_id}); score by {rubric}, then: "
        f"compaction-eval calibrate {output} --rater NAME"
    )
    o.echo_store(store)
