"""``store drop`` and ``store prune``: taking sessions, or old nights, out of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command

if TYPE_CHECKING:
    from flows.pipeline import dropping, pruning
    from flows.store.store import Store

Changed = TypeVar("Changed")
GROUP = "Take sessions or old nights out of a store.\n"
"""Help of the group."""


@command("store drop --gone", "store drop --gone --yes", 'store drop "~/.claude/projects/secret" 0b1e* --yes', order=10)
def drop(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION|LOG|FOLDER]…", help="Ids of sessions, paths of logs, folders of logs, or globs of either."
        ),
    ] = None,
    gone: Annotated[bool, typer.Option("--gone", help="Every session of which no log is left.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it, it is only said.")] = False,
    store: o.StoreOption = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Take sessions out of a store: their messages, all that came of them, and their place in the results.

    What is stored stays in the results until then, whether its log is still there or not. A log that is still there
    is not read again before it changes; then its sessions come back. The answers of models stay in the call cache
    (cache prune).
    """
    from flows.pipeline import dropping

    target = o.open_store(store)
    found = dropping.select_sessions(target, what or (), gone=gone)
    n_rows = 0
    if yes and (found.sessions or found.inputs):
        n_rows = _drop(target, what or [], gone=gone, quiet=quiet or as_json)
    if as_json:
        o.echo_json({"store": target.name, "dropped": yes, "sessions": _dropped_rows(found), "rows_of_results": n_rows})
    elif not quiet:
        o.echo("\n".join(_format_dropped(found, n_rows, done=yes)))
        o.echo_store(target)


@command("store prune --keep 30-nights", "store prune --keep 90-days --yes --store /data/store", order=20)
def prune(
    keep: Annotated[
        str, typer.Option("--keep", metavar="N-nights|N-days", help="How far back the nights of each study stay.")
    ],
    location: Annotated[str | None, typer.Argument(metavar="STORE", help="The store, as --store.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it, it is only said.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go, as without --yes.")] = False,
    store: o.StoreOption = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Take old nights out of a store: the trend then begins later, and nothing else changes.

    Sessions, results, answers of models, the costs of calls and people's labels stay. So do, of each judge and method,
    the nights that a comparison of today needs: the last one, the last whole one before it, the one that was told last.
    """
    from dataclasses import asdict

    from flows.pipeline import pruning
    from flows.support.errors import UsageError

    wanted = pruning.Keep.parse(keep)
    if yes and dry_run:
        raise UsageError("store prune: --yes and --dry-run: choose one")
    target = o.open_store(location or store)
    found = pruning.find_prunable(target, wanted)
    if yes and found.rows:
        found = _change(
            target, lambda: pruning.prune_nights(target, wanted), what="store prune", quiet=quiet or as_json
        )
    if as_json:
        o.echo_json({"store": target.name, "pruned": yes, **asdict(found)})
    elif not quiet:
        o.echo(_format_pruned(found, done=yes))
        o.echo_store(target)


def _format_pruned(found: pruning.Pruned, *, done: bool) -> str:
    from rich.filesize import decimal

    from flows.support.plurals import quantity

    if not found.rows:
        return f"nothing to take out: {quantity(found.nights_left, 'night')}"
    what = f"{quantity(found.nights, 'night')}, {quantity(found.rows, 'row')}, {decimal(found.bytes)}"
    if done:
        return f"taken out: {what}; {quantity(found.nights_left, 'night')} left"
    left = quantity(found.nights_left, "night")
    return f"would take out: {what}, and leave {left}; nothing was changed: add --yes to do it"


def _drop(target: Store, words: list[str], *, gone: bool, quiet: bool) -> int:
    """Remove the sessions, and make the results anew."""
    from flows.pipeline import dropping

    def drop_found() -> int:
        found = dropping.select_sessions(target, words, gone=gone)  # another command may have changed it since
        return dropping.drop_sessions(target, found)

    return _change(target, drop_found, what="store drop", quiet=quiet)


def _change(target: Store, change: Callable[[], Changed], *, what: str, quiet: bool) -> Changed:
    """Change a store that is locked, and make the results anew."""
    from flows.config.study import Study
    from flows.execution.run import running
    from flows.pipeline.load.provenance import Provenance, loaded_study, study_of_results
    from flows.pipeline.load.tables import rebuild_database
    from flows.support.progress import make_report

    is_loaded = loaded_study(target) is not None
    study = study_of_results(target) if is_loaded else Study()
    study = replace(study, store=target.name, tokenizer=target.settings["tokenizer"])
    with running(study, make_report(quiet), what=what, is_whole_store=True) as active:
        changed = change()
        if is_loaded:
            makers = Provenance.of_results(target, study)
            rebuild_database(target, study, makers=makers, is_whole_store=True, report=active.report)
    return changed


def _dropped_rows(found: dropping.DropSelection) -> list[dict[str, Any]]:
    from flows.pipeline.plan import is_gone

    return [
        {
            "session_id": info.session_id,
            "input_path": info.input_path,
            "n_messages": info.n_messages,
            "log_is_gone": is_gone(info.input_path),
        }
        for info in found.sessions
    ]


def _format_dropped(found: dropping.DropSelection, n_rows: int, *, done: bool) -> list[str]:
    from flows.pipeline.plan import is_gone
    from flows.support.plurals import quantity

    lines = [
        f"{info.session_id}: {quantity(info.n_messages, 'message')}, {info.input_path}"
        + (" (gone)" if is_gone(info.input_path) else "")
        for info in found.sessions
    ]
    if not found.sessions and not found.inputs:
        return ["nothing to take out"]
    total = f"{quantity(len(found.sessions), 'session')} and {quantity(len(found.inputs), 'log')} that are gone"
    if done:
        lines.append(f"taken out: {total}, with {quantity(n_rows, 'row')} of results")
    else:
        lines.append(f"would take out: {total}; nothing was changed: add --yes to do it")
    if found.present:
        lines.append(
            f"{quantity(len(found.present), 'session')} would come back when the log changes, as it is still there: "
            "move it away, or out of the sources"
        )
    return lines
