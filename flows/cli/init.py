"""``init``: a study file to begin with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command


@command("init", "init studies/nightly.toml ~/.claude/projects ~/.codex/sessions", "init --find", order=10)
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The study file to write.")] = Path("study.toml"),
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE", help="Where the sessions are; the file names them, and points that fit their lengths."
        ),
    ] = None,
    find: Annotated[
        bool, typer.Option("--find", help="Add where the agents of this machine keep their sessions; none is read.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Write a study file with every key, what it means and its default, to be edited.

    As it stands it changes nothing: every key has a # before it, but `sources` where some are given, and `points` where
    fewer than half of some of their sessions reach the default. `plan --study FILE` says what a run of it would do.
    With --find it prints the agents that have sessions on this machine, and `sources` names their folders.
    """
    from flows.config.study import make_study
    from flows.config.study_template import make_template
    from flows.sources.agents import find_agents
    from flows.support.atomic_files import write_output
    from flows.support.errors import EvalError, UsageError
    from flows.support.plurals import quantity

    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file, such as {file / 'study.toml'}")
    if file.exists() and not force:
        raise UsageError(f"{file} is there already; --force replaces it, or name another file")
    found = list(find_agents(Path.home(), os.environ)) if find else []
    if find and not found:
        raise UsageError("no known agent has sessions on this machine; name a folder: init FILE.toml SOURCE")
    chosen = _choose(sources)
    if found:
        chosen["sources"] = tuple(dict.fromkeys((*(sources or ()), *(one.source for one in found))))
    try:
        write_output(file, make_template(file.name, chosen).encode())
    except OSError as error:
        raise EvalError(f"{file}: cannot be written: {error.strerror or error}") from None
    make_study({}, str(file))
    if as_json:
        o.echo_json({"study": str(file)} | ({"found": [asdict(one) for one in found]} if find else {}))
        return
    for one in found:
        o.echo(f"{one.agent}: {quantity(one.n_logs, 'log')} in {one.source}")
    o.echo(f"{file}: edit it, then: compaction-eval plan --study {file}")


def _choose(sources: Sequence[str] | None) -> dict[str, Any]:
    """Propose the study's keys for some sources."""
    from flows.config.study import Study
    from flows.pipeline.missing_points import propose_points
    from flows.pipeline.plan import inputs_of

    if not sources:
        return {}
    study = Study(sources=tuple(sources))
    points = propose_points(inputs_of(study), study.points)
    return {"sources": study.sources} | ({"points": points} if points != study.points else {})
