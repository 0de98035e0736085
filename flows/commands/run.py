"""``run`` and ``ingest``: the commands that work."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import typer

from flows.anchors import is_due
from flows.commands import options as o
from flows.intake import each_quarantined
from flows.leaderboard import render
from flows.makers import Makers, loaded_study
from flows.models.check import check_models
from flows.moved import in_words, moved_since_told
from flows.nights import note_told
from flows.orchestrator import prefect_api, prepare
from flows.plan import inputs_of, unread
from flows.problems import BROKEN, DONE, INCOMPLETE, WORSE
from flows.progress import make_report
from flows.runtime import Run, load_database, running
from flows.sources.account import RECORD
from flows.store import Store
from flows.study import Study, make_study
from flows.summary import label_note, masked_note, records_of
from flows.tables import STEPS, has_night, is_loaded, rebuild
from flows.transcripts import InputRecord, SessionInfo, read_parts
from flows.work.stages import is_complete


@o.reporting
def run(
    sources: o.Sources = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    strategies: o.Strategies = None,
    points: o.Points = None,
    history: o.HistoryOption = None,
    model: o.Model = None,
    summarizer: o.Summarizer = None,
    responder: o.Responder = None,
    prober: o.Prober = None,
    judge: o.JudgeOption = None,
    rubric: o.RubricOption = None,
    protocol: o.Protocol = None,
    replicates: o.Replicates = None,
    judge_replicates: o.JudgeReplicates = None,
    anchors: o.Anchors = None,
    limit: o.Limit = None,
    concurrency: o.Concurrency = None,
    runner: o.RunnerOption = None,
    budget_usd: o.BudgetUsd = None,
    budget_tokens: o.BudgetTokens = None,
    tokenizer: o.Tokenizer = None,
    no_redact: o.NoRedact = False,
    task_types: o.TaskTypes = None,
    fail_if_worse: o.FailIfWorse = None,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Do everything: ingest, compact, probe, measure, answer, score; then print the leaderboard.

    Without a SOURCE it runs on the sample sessions that come with the package. Run it again and it goes on where it
    was; nothing that is done is done twice.
    """
    effective = make_study(
        {
            "sources": tuple(sources or ()), "store": store, "strategies": strategies, "points": points,
            "history": history, "model": model, "summarizer": summarizer, "responder": responder, "prober": prober,
            "judge": judge, "rubric": rubric, "replicates": replicates, "judge_replicates": judge_replicates,
            "anchors": anchors, "limit": limit, "concurrency": concurrency, "runner": runner, "tokenizer": tokenizer,
            "task_types": task_types,
            "redact": False if no_redact else None, "protocol": protocol, "budget_usd": budget_usd,
            "budget_tokens": budget_tokens,
        },
        study,
    )  # fmt: skip
    inputs_of(effective)
    check_models(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report) as active, active.logged(log, items=log_items):
        nothing_to_do = is_complete(target, effective) and not is_due(target, effective)
        if not nothing_to_do:
            carry_out(active, _evaluation, ephemeral=ephemeral, verbose=verbose)
        elif not is_loaded(target, effective) or not has_night(target, effective):
            load_database(active)
    finish(active, quiet=quiet, as_json=as_json, nothing_to_do=nothing_to_do, fail_if_worse=fail_if_worse)


def carry_out(active: Run, flow: Callable[[Run], Coroutine[Any, Any, None]], *, ephemeral: bool, verbose: bool) -> None:
    """Run a flow under Prefect, and note it when it breaks; ``flow`` imports it, as Prefect must be set up before."""
    prepare(verbose)  # before the workers, which take it over
    _ = active.workers  # they start up while the server does
    with prefect_api(active.report, ephemeral=ephemeral, verbose=verbose):
        try:
            asyncio.run(flow(active))
        except BaseException:
            active.record("failed", BROKEN)
            raise


async def _evaluation(active: Run) -> None:
    from flows.evaluate import evaluate  # noqa: PLC0415 (Prefect reads its settings when it is imported)

    await evaluate(active.study)


def finish(run: Run, *, quiet: bool, as_json: bool, nothing_to_do: bool, fail_if_worse: float | None = None) -> None:
    """Print the summary of a run that has ended, and the leaderboard, and exit."""
    store, summary = run.store, run.summary()
    worse = [] if fail_if_worse is None else _worse(run, fail_if_worse)
    if as_json:
        board = json.loads(render(store.database, None, "json"))
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
            o.echo(render(store.database))
        if worse:
            print(f"worse by more than {fail_if_worse:g}: {', '.join(worse)}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(WORSE if worse else summary.exit_code)


def _worse(run: Run, threshold: float) -> list[str]:
    """The methods that got worse since this was asked last, in words."""
    moved = moved_since_told(run.store, run.study.study_key)
    note_told(run.store, run.study.study_key, moved.told(threshold))
    return [in_words(row, threshold) for row in moved.worse(threshold)]


@o.reporting
def ingest(
    sources: o.Sources = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    concurrency: o.Concurrency = None,
    runner: o.RunnerOption = None,
    tokenizer: o.Tokenizer = None,
    no_redact: o.NoRedact = False,
    task_types: o.TaskTypes = None,
    log: o.Log = None,
    log_items: o.LogItems = False,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Take sessions up into the store, and say for each file what came of it.

    Ingesting again changes nothing; a file that has changed is taken up anew, and a session that grew replaces the
    shorter one. What is stored stays when its file goes or reads worse than before; see store drop.
    """
    flags = {
        "sources": tuple(sources or ()), "store": store, "concurrency": concurrency, "runner": runner,
        "tokenizer": tokenizer, "redact": False if no_redact else None, "task_types": task_types,
    }  # fmt: skip
    effective = make_study(flags, study)
    inputs = inputs_of(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report, what="ingest") as active, active.logged(log, items=log_items):
        if unread(active.parts(), inputs, effective):
            prepare(verbose)  # before the workers, which take it over
            _ = active.workers  # they start up while the server does
            with prefect_api(report, ephemeral=ephemeral, verbose=verbose):
                from flows.ingest import ingest as flow  # noqa: PLC0415 (as above)

                asyncio.run(flow(effective))
        else:
            report.say("nothing to do: every file is in the store as it is now")
        shown = loaded_study(target)
        shown = effective if shown is None else replace(shown, task_types=effective.task_types or shown.task_types)
        makers = Makers.noted(target)
        if not is_loaded(target, shown, makers, is_whole_store=True):
            with report.stage("load", STEPS, "steps") as told:
                rebuild(target, shown, makers=makers, is_whole_store=True, stepped=lambda: told.advance(1))
    _say_files(target, effective, as_json)


def _say_files(store: Store, study: Study, as_json: bool) -> None:
    parts = read_parts(store)
    records = records_of(parts, study)
    reasons: dict[str, list[dict[str, Any]]] = {}
    for row in each_quarantined(store):
        reasons.setdefault(row["input"], []).append(row)
    copies: dict[str, list[SessionInfo]] = {}
    for info in (info for part in parts for info in part.folded):
        copies.setdefault(info.input_path, []).append(info)
    n_aside = sum(len(reasons.get(record.fingerprint.path, ())) for record in records)
    if as_json:
        files = [
            _file_row(record, copies.get(path := record.fingerprint.path, []), reasons.get(path, []))
            for record in records
        ]
        o.echo_json({"store": store.name, "files": files})
    else:
        for record in records:
            path = record.fingerprint.path
            o.echo(_file_lines(record, copies.get(path, []), reasons.get(path, [])))
        total = _counted(sum(r.n_sessions for r in records), sum(r.n_messages for r in records))
        aside = f", {n_aside:,} places set aside: see {store.place.told(store.quarantine)}" if n_aside else ""
        o.echo(f"{len(records):,} inputs, {total}{aside}")
        o.echo(masked_note(records) or ("no secret found" if study.redact else "secrets were not looked for"))
        if unknown := label_note(study, parts):
            o.echo(unknown)
        o.echo("every message is accounted for in: compaction-eval accounting")
    raise typer.Exit(INCOMPLETE if n_aside else DONE)


def _file_row(record: InputRecord, copies: list[SessionInfo], reasons: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "path": record.fingerprint.path, "format": record.format, "sessions": record.n_sessions,
        "messages": record.n_messages, "met": record.met,
        "not_stored": [{"kind": kind, "reason": why, "count": number} for kind, why, number in record.aside],
        "folded": [[info.recorded_id, info.folded_into] for info in copies],
        "masked_secrets": record.masked, "set_aside": reasons,
    }  # fmt: skip


def _file_lines(record: InputRecord, copies: list[SessionInfo], reasons: list[dict[str, Any]]) -> str:
    format = record.format or "no known format"
    lines = [f"{record.fingerprint.path}: {format}, {_counted(record.n_sessions, record.n_messages)}"]
    for info in copies:
        apart = f" ({info.n_apart:,} of its answers are not in that one)" if info.n_apart else ""
        lines.append(f"    session {info.recorded_id} is a copy of {info.folded_into}, which stays{apart}")
    left = ", ".join(f"{number:,} {_of_kind(kind)}{why}" for kind, why, number in record.aside)
    if left:
        lines.append(f"    not stored: {left}")
    if record.masked:
        lines.append("    masked: " + ", ".join(f"{number:,} {kind}" for kind, number in sorted(record.masked.items())))
    for row in reasons:
        line = f"line {row['line']}: " if row["line"] else ""
        lines.append(f"    set aside: {line}{row['reason']}")
    return "\n".join(lines)


def _of_kind(kind: str) -> str:
    return "" if kind == RECORD else f"{kind.replace('_', ' ')}: "


def _counted(sessions: int, messages: int) -> str:
    return f"{sessions:,} session{'s' * (sessions != 1)}, {messages:,} message{'s' * (messages != 1)}"
