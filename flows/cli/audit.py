"""``audit``: tests whether the judge can be trusted: signs of methods, hostile instructions, plain gradings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study

if TYPE_CHECKING:
    from flows.store.store import Store

GROUP = """Measure whether a judge can be trusted: altered answers, blindness to methods, hostile texts, plain cases.

See docs/judge.md.
"""
"""Help of the group."""
JUDGING = ("judge", "store", "study", "protocol", "concurrency", "budget_usd", "budget_tokens")
"""Options of the commands that ask a judge."""


@command(
    "audit blinding",
    "audit blinding --limit 20 --json",
    order=10,
)
@takes_study("store", "limit")
def blinding(given: Given, as_json: o.AsJson = False, quiet: o.Quiet = False) -> None:
    """Guess the methods from what a model as judge is sent, under each protocol; nothing is called.

    A simple classifier is trained on some sessions and guesses for others. chance: what the same guesses get right with
    labels dealt anew. ceiling: the most that any reader could (methods may leave the same). Under `study` far above
    chance is expected, since what a method keeps is what is judged; `form` shows what its wording adds to that.
    """
    from flows.pipeline.backfill.selection import study_of_backfill
    from flows.store.store import Store
    from flows.support.progress import make_report
    from flows.validation import audit as found_out

    target = Store.open(given.store)
    study = study_of_backfill(target, {}, None)
    seen = found_out.measure_blinding(target, study, given.value("limit"), make_report(quiet or as_json))
    rows = found_out.as_rows(seen)
    if as_json:
        more = [
            {
                "recall": dict(one.leakage.recall),
                "pairs": [asdict(pair) for pair in one.leakage.pairs],
                "telling": one.leakage.telling,
            }
            for one in seen
        ]
        o.echo_json([{**row, **details} for row, details in zip(rows, more, strict=True)])
        return
    _print_table(rows)
    for one in seen:
        if one.what == "form":
            words = ", ".join(f"{word!r} ({method})" for method, word in one.leakage.telling[:8])
            o.echo(f"what says most of the form: {words or 'nothing'}")
    o.echo_store(target)


@command(
    "audit attacks --judge openai:gpt-5.2 --budget-usd 2",
    order=20,
)
@takes_study(*JUDGING)
def attacks(
    given: Given,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Put hostile texts into answers, contexts and truths of ten clear cases, and see how far the scores move.

    shift: points towards what the text wants. harmless: points that a text of like length without a wish moves them in
    that direction. obedience: the difference of the two, with its 95 % interval over the cases.
    """
    from flows.support.progress import make_report
    from flows.validation import audit as found_out

    effective, target = _open_judge(given)
    report = found_out.attacks(target, effective, make_report(quiet or as_json))
    if as_json:
        by_place = [asdict(row) for row in report.rows(by_place=True)]
        head = {"version": report.version, "cases": report.n_cases, "unscored": report.unscored_cases}
        o.echo_json({**head, "rows": [asdict(row) for row in report.rows()], "by_place": by_place})
        return
    o.echo(report.markdown())
    o.echo(
        f"{report.n_cases} cases, {len(report.unscored_cases)} of them unscored to begin with; attacks {report.version}"
    )
    o.echo_store(target)


@command(
    "audit gradings --judge openai:gpt-5.2",
    order=30,
)
@takes_study(*JUDGING)
def gradings(
    given: Given,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Let the judge score ten answers that are plainly right or wrong; one that fails here judges nothing."""
    from flows.support.progress import make_report
    from flows.validation import audit as found_out

    effective, target = _open_judge(given)
    found = found_out.check_gradings(target, effective, make_report(quiet or as_json))
    rows = [{**asdict(one), "agrees": one.agrees} for one in found]
    if as_json:
        o.echo_json(rows)
        return
    _print_table([{name: row[name] for name in ("id", "is_right", "score", "agrees", "reason")} for row in rows])
    o.echo(f"{sum(one.agrees for one in found)} of {len(found)} as they have to be")
    o.echo_store(target)


@command(
    "audit validity",
    "audit validity --judge openai:gpt-5.2 --questions 6 --budget-usd 2",
    order=5,
)
@takes_study(*JUDGING, "responder")
def validity(
    given: Given,
    questions: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Questions of each type whose answers are altered.")
    ] = 12,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Alter true answers of the store's questions in known ways, and see whether the judge's scores follow.

    Each alteration has a mean that is right for it: 4.7 or more for the truth, little for a denial. The same facts in
    another form (longer, in another order, under headings) have to leave the score within 0.25, and so have the words
    of the model that judges beside those of another that --responder names. What a judge passes and fails stands in the
    table judge_validity and beside its figures. One call for each question and alteration.
    """
    from flows.pipeline.load.provenance import Provenance
    from flows.pipeline.load.tables import rebuild_database
    from flows.support.progress import make_report
    from flows.validation.calibration import study_of_results
    from flows.validation.validity import check_validity, note_validity

    effective, target = _open_judge(given)
    found = check_validity(target, effective, questions, make_report(quiet or as_json))
    with target.locked("audit validity"):  # not before: a model takes minutes
        note_validity(target, effective, found)
        rebuild_database(target, study_of_results(target), makers=Provenance.noted(target), is_whole_store=True)
    rows = [asdict(row) for row in found]
    if as_json:
        o.echo_json(rows)
        return
    _print_validity(rows)
    o.echo_store(target)


@command(
    "audit pack",
    "audit pack --judge openai:gpt-5.2 --sample 100 --budget-usd 2",
    order=7,
)
@takes_study(*JUDGING)
def pack(
    given: Given,
    sample: Annotated[
        int,
        typer.Option(metavar="N", min=2, max=100_000, help="Answers, of whole contexts by lot, that are judged twice."),
    ] = 100,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Judge answers both ways, all of a context in one call (--pack) and each alone, and see how far the two agree.

    difference: points that an answer earns in a pack more than alone, with its 95 % interval over sessions; it has to
    leave the score within 0.25. Below it what each way has cost. Calls that are paid for already are not made again.
    The difference stands as bias_pack in the table judge_validity.
    """
    from flows.pipeline.load.provenance import Provenance
    from flows.pipeline.load.tables import rebuild_database
    from flows.support.progress import make_report
    from flows.validation.calibration import study_of_results
    from flows.validation.packing import compare_packing, note_packing

    effective, target = _open_judge(given)
    found = compare_packing(target, effective, sample, make_report(quiet or as_json))
    with target.locked("audit pack"):
        note_packing(target, found)
        rebuild_database(target, study_of_results(target), makers=Provenance.noted(target), is_whole_store=True)
    if as_json:
        o.echo_json(found.as_dict())
        return
    seen = found.agreement
    ways = (("in packs", found.packed, seen.mean_packed), ("each alone", found.alone, seen.mean_alone))
    _print_table(
        [
            {"way": way, "answers": seen.n, "mean": mean.mean, **sums, "cost_usd": _format_usd(sums["cost_usd"])}
            for way, sums, mean in ways
        ]
    )
    o.echo(f"difference: {seen.difference} points, in packs less alone, with its 95 % interval over sessions")
    shares = (seen.exact or 0.0, seen.within_one or 0.0)
    kappa = "not defined, as no score differs from another" if seen.kappa is None else f"{seen.kappa:.2f}"
    o.echo(f"{seen.n_scores:,} scores: {shares[0]:.0%} the same, {shares[1]:.0%} within a point, kappa {kappa}")
    if seen.n_again or seen.n_unscored:
        o.echo(f"left out: {seen.n_again} without a usable verdict in their pack, {seen.n_unscored} without any")
    o.echo_store(target)


def _print_validity(rows: list[dict[str, Any]]) -> None:
    shown = [
        {
            "alteration": row["about"],
            "answers": row["n"],
            "mean": row["mean"],
            "from": row["ci_low"],
            "to": row["ci_high"],
            "required": f"{row['required_low']:.1f} to {row['required_high']:.1f}",
            "passes": row["passes"],
        }
        for row in rows
        if row["mean"] is not None and row["effect"] is None
    ]
    biases = [
        {
            "bias": row["about"],
            "answers": row["n"],
            "effect": row["effect"],
            "from": row["effect_low"],
            "to": row["effect_high"],
            "required": f"{row['required_low']:.2f} to {row['required_high']:.2f}",
            "passes": row["passes"],
        }
        for row in rows
        if row["effect"] is not None
    ]
    _print_table(shown)
    if biases:
        o.echo("")
        _print_table(biases)
    told = [row["passes"] for row in (*shown, *biases) if row["passes"] is not None]
    o.echo(f"{sum(told)} of {len(told)} checks passed; from, to: 95 % interval over sessions")
    if len(told) < len(shown) + len(biases):
        o.echo("where it passes neither way more questions or sessions would tell: --questions")


def _open_judge(given: Given) -> tuple[Any, Store]:
    from flows.config.model_check import check_models
    from flows.store.store import Store

    effective = given.study()
    check_models(effective)
    return effective, Store.create(effective.store, effective.tokenizer)


def _print_table(rows: list[Any]) -> None:
    from flows.reporting.text_tables import is_numeric

    names = list(rows[0])
    cells = [[_format_cell(row[name]) for name in names] for row in rows]
    numeric = [is_numeric([row[name] for row in rows]) for name in names]
    o.echo(o.layout(more="--json").table(names, cells, numeric))


def _format_usd(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4f}"


def _format_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
