"""``run`` and ``ingest``: the commands that work."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import typer

from flows.commands import options as o
from flows.leaderboard import render
from flows.orchestrator import prefect_api
from flows.plan import in_scope, inputs_of, is_complete, unread
from flows.problems import BROKEN, DONE, INCOMPLETE
from flows.progress import make_report
from flows.runtime import Run, load_database, running
from flows.store import Store
from flows.study import Study, make_study
from flows.summary import records_of, summarize
from flows.tables import is_loaded, quarantined
from flows.transcripts import read_parts


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
    replicates: o.Replicates = None,
    judge_replicates: o.JudgeReplicates = None,
    limit: o.Limit = None,
    concurrency: o.Concurrency = None,
    tokenizer: o.Tokenizer = None,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Do everything: ingest, compact, probe, answer, score; then print the leaderboard.

    Without a SOURCE it runs on the sample sessions that come with the package. Run it again and it goes on where it
    was; nothing that is done is done twice.
    """
    effective = make_study(
        {
            "sources": tuple(sources or ()), "store": store, "strategies": strategies, "points": points,
            "history": history, "model": model, "summarizer": summarizer, "responder": responder, "prober": prober,
            "judge": judge, "rubric": rubric, "replicates": replicates, "judge_replicates": judge_replicates,
            "limit": limit, "concurrency": concurrency, "tokenizer": tokenizer,
        },
        study,
    )  # fmt: skip
    inputs_of(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report) as active:
        nothing_to_do = is_complete(target, effective)
        if not nothing_to_do:
            _evaluate(active, ephemeral, verbose)
        elif not is_loaded(target, effective):
            load_database(active)
    _finish(target, effective, quiet=quiet, as_json=as_json, nothing_to_do=nothing_to_do)


def _evaluate(active: Run, ephemeral: bool, verbose: bool) -> None:
    """Run the flow that is the whole, and note how it ended."""
    _ = active.workers  # they start up while the server does
    with prefect_api(active.report, ephemeral=ephemeral, verbose=verbose):
        from flows.evaluate import evaluate  # noqa: PLC0415 (Prefect reads its settings when it is imported)

        try:
            asyncio.run(evaluate(active.study))
        except BaseException:
            active.record("failed", BROKEN)
            raise


def _finish(store: Store, study: Study, *, quiet: bool, as_json: bool, nothing_to_do: bool) -> None:
    """Print the summary and the leaderboard, and exit."""
    parts = read_parts(store)
    sessions = in_scope(parts, inputs_of(study), study.limit)
    summary = summarize(store, study, parts, sessions)
    if as_json:
        board = json.loads(render(store.database, None, "json"))
        content = {"summary": summary.as_dict(), "nothing_to_do": nothing_to_do, "leaderboard": board}
        o.echo(json.dumps({**content, "store": str(store.root)}, indent=2, ensure_ascii=False))
    else:
        lines = ["nothing to do: everything that this study asks for is in the store"] if nothing_to_do else []
        lines += summary.lines()
        if not quiet:
            print("\n".join(lines), file=sys.stderr)  # noqa: T201
        elif summary.exit_code != DONE:
            print("\n".join(lines[-len(summary.problems) or None :]), file=sys.stderr)  # noqa: T201
        if summary.counts["points"]:
            o.echo(render(store.database))
    raise typer.Exit(summary.exit_code)


@o.reporting
def ingest(
    sources: o.Sources = None,
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    concurrency: o.Concurrency = None,
    tokenizer: o.Tokenizer = None,
    ephemeral: o.Ephemeral = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Take sessions up into the store, and say for each file what came of it.

    Ingesting again changes nothing; a file that has changed is taken up anew, and a session that grew replaces the
    shorter one.
    """
    flags = {"sources": tuple(sources or ()), "store": store, "concurrency": concurrency, "tokenizer": tokenizer}
    effective = make_study(flags, study)
    inputs = inputs_of(effective)
    report = make_report(quiet or as_json)
    target = Store.create(effective.store, effective.tokenizer)
    with running(effective, report, what="ingest") as active:
        if unread(active.parts(), inputs):
            _ = active.workers  # they start up while the server does
            with prefect_api(report, ephemeral=ephemeral, verbose=verbose):
                from flows.ingest import ingest as flow  # noqa: PLC0415 (as above)

                asyncio.run(flow(effective))
        else:
            report.say("nothing to do: every file is in the store as it is now")
    _say_files(target, effective, as_json)


def _say_files(store: Store, study: Study, as_json: bool) -> None:
    records = records_of(read_parts(store), study)
    reasons: dict[str, list[dict[str, Any]]] = {}
    for row in quarantined(store):
        reasons.setdefault(row["input"], []).append(row)
    n_aside = sum(len(reasons.get(record.fingerprint.path, ())) for record in records)
    if as_json:
        files = [
            {
                "path": record.fingerprint.path, "format": record.format, "sessions": record.n_sessions,
                "messages": record.n_messages, "folded": [list(pair) for pair in record.folded],
                "set_aside": reasons.get(record.fingerprint.path, []),
            }
            for record in records
        ]  # fmt: skip
        o.echo(json.dumps({"store": str(store.root), "files": files}, indent=2, ensure_ascii=False))
    else:
        for record in records:
            path = record.fingerprint.path
            o.echo(f"{path}: {record.format or 'no known format'}, {_counted(record.n_sessions, record.n_messages)}")
            for id, winner in record.folded:
                o.echo(f"    session {id} is a shorter copy of {winner}, which stays")
            for row in reasons.get(path, ()):
                line = f"line {row['line']}: " if row["line"] else ""
                o.echo(f"    set aside: {line}{row['reason']}")
        total = _counted(sum(r.n_sessions for r in records), sum(r.n_messages for r in records))
        aside = f", {n_aside:,} set aside: see {store.quarantine}" if n_aside else ""
        o.echo(f"{len(records):,} inputs, {total}{aside}")
    raise typer.Exit(INCOMPLETE if n_aside else DONE)


def _counted(sessions: int, messages: int) -> str:
    return f"{sessions:,} session{'s' * (sessions != 1)}, {messages:,} message{'s' * (messages != 1)}"
