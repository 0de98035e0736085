"""``store drop``: taking sessions out of a store."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from flows import dropping, tables
from flows.commands import options as o
from flows.makers import Makers, loaded_study, study_of_results
from flows.plan import is_gone
from flows.printing import counted
from flows.progress import make_report
from flows.runtime import running
from flows.store import Store
from flows.study import DEFAULT_STORE, Study


@o.reporting
def drop(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION|LOG|FOLDER]…",
            help="Ids of sessions, paths of logs, folders of logs, or globs of either.",
            show_default=False,
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
    target = Store.brought_up(store or DEFAULT_STORE)
    found = dropping.read_dropped(target, what or (), gone=gone)
    n_rows = 0
    if yes and (found.sessions or found.inputs):
        n_rows = _drop(target, what or [], gone=gone, quiet=quiet or as_json)
    if as_json:
        o.echo_json({"store": target.name, "dropped": yes, "sessions": _rows(found), "rows_of_results": n_rows})
    elif not quiet:
        o.echo("\n".join(_lines(found, n_rows, done=yes)))


def _drop(target: Store, words: list[str], *, gone: bool, quiet: bool) -> int:
    """Take them out, and make the results anew."""
    is_loaded = loaded_study(target) is not None
    study = study_of_results(target) if is_loaded else Study()
    study = replace(study, store=target.name, tokenizer=target.settings["tokenizer"])
    with running(study, make_report(quiet), what="store drop", is_whole_store=True) as active:
        found = dropping.read_dropped(target, words, gone=gone)  # another command may have changed it since
        n_rows = dropping.drop(target, found)
        if is_loaded:
            with active.report.stage("rebuild", tables.STEPS, "steps") as shown:
                makers = Makers.of_results(target, study)
                tables.rebuild(target, study, makers=makers, is_whole_store=True, stepped=lambda: shown.advance(1))
    return n_rows


def _rows(found: dropping.Dropped) -> list[dict[str, Any]]:
    return [
        {"session_id": info.session_id, "input_path": info.input_path, "n_messages": info.n_messages,
         "log_is_gone": is_gone(info.input_path)}
        for info in found.sessions
    ]  # fmt: skip


def _lines(found: dropping.Dropped, n_rows: int, *, done: bool) -> list[str]:
    lines = [
        f"{info.session_id}: {counted(info.n_messages, 'message')}, {info.input_path}"
        + (" (gone)" if is_gone(info.input_path) else "")
        for info in found.sessions
    ]
    if not found.sessions and not found.inputs:
        return ["nothing to take out"]
    total = f"{counted(len(found.sessions), 'session')} and {counted(len(found.inputs), 'log')} that are gone"
    if done:
        lines.append(f"taken out: {total}, with {counted(n_rows, 'row')} of results")
    else:
        lines.append(f"would take out: {total}; nothing was changed: add --yes to do it")
    if found.present:
        lines.append(
            f"{counted(len(found.present), 'session')} would come back when the log changes, as it is still there: "
            "move it away, or out of the sources"
        )
    return lines
