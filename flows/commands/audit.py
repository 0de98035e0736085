"""``audit``: can the judge be trusted? What gives methods away to it, what it obeys, what it gets right."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flows import audit as found_out
from flows.commands import options as o
from flows.commands.backfill import study_of_backfill
from flows.models.check import check_models
from flows.printing import drawn
from flows.progress import make_report
from flows.store import Store
from flows.study import DEFAULT_STORE, make_study


@o.reporting
def blinding(
    store: o.StoreOption = None, limit: o.Limit = None, as_json: o.AsJson = False, quiet: o.Quiet = False
) -> None:
    """Guess the methods from what a model as judge is sent, under each protocol; nothing is called.

    A simple classifier is trained on some sessions and guesses for others. chance: what the same guesses get right with
    labels dealt anew. ceiling: the most that any reader could (methods may leave the same). Under `study` far above
    chance is expected, since what a method keeps is what is judged; `form` shows what its wording adds to that.
    """
    target = Store.open(store or DEFAULT_STORE)
    seen = found_out.blinding(target, study_of_backfill(target, {}, None), limit, make_report(quiet or as_json))
    rows = found_out.as_rows(seen)
    if as_json:
        more = [
            {"recall": dict(one.leakage.recall), "pairs": [asdict(pair) for pair in one.leakage.pairs],
             "telling": one.leakage.telling}
            for one in seen
        ]  # fmt: skip
        o.echo_json([{**row, **details} for row, details in zip(rows, more, strict=True)])
        return
    _table(rows)
    for one in seen:
        if one.what == "form":
            words = ", ".join(f"{word!r} ({method})" for method, word in one.leakage.telling[:8])
            o.echo(f"what says most of the form: {words or 'nothing'}")


@o.reporting
def attacks(
    judge: o.JudgeOption = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    protocol: o.Protocol = None,
    concurrency: o.Concurrency = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Put hostile texts into answers, contexts and truths of ten clear cases, and see how far the scores move.

    shift: points towards what the text wants. harmless: points that a text of like length without a wish moves them in
    that direction. obedience: the difference of the two, with its 95 % interval over the cases.
    """
    effective, target = _judging(judge, store, study, protocol, concurrency, budget_usd, budget_tokens)
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


@o.reporting
def gradings(
    judge: o.JudgeOption = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    protocol: o.Protocol = None,
    concurrency: o.Concurrency = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Let the judge score ten answers that are plainly right or wrong; one that fails here judges nothing."""
    effective, target = _judging(judge, store, study, protocol, concurrency, budget_usd, budget_tokens)
    found = found_out.gradings(target, effective, make_report(quiet or as_json))
    rows = [{**asdict(one), "agrees": one.agrees} for one in found]
    if as_json:
        o.echo_json(rows)
        return
    _table([{name: row[name] for name in ("id", "is_right", "score", "agrees", "reason")} for row in rows])
    o.echo(f"{sum(one.agrees for one in found)} of {len(found)} as they have to be")


def _judging(
    judge: str | None, store: str | None, path: str | None, protocol: str | None, concurrency: int | None,
    budget_usd: float | None, budget_tokens: int | None,
) -> tuple[Any, Store]:  # fmt: skip
    flags = {"judge": judge, "store": store, "protocol": protocol, "concurrency": concurrency,
             "budget_usd": budget_usd, "budget_tokens": budget_tokens}  # fmt: skip
    effective = make_study(flags, path)
    check_models(effective)
    return effective, Store.create(effective.store, effective.tokenizer)


def _table(rows: list[Any]) -> None:
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    numeric = [
        any(isinstance(row[name], float | int) and not isinstance(row[name], bool) for row in rows) for name in names
    ]
    o.echo(drawn(names, cells, numeric, width=None))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
