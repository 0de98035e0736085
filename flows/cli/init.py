"""``init``: a study file to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command


@command(
    "init",
    "init studies/nightly.toml ~/.claude/projects ~/.codex/sessions",
    order=10,
)
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The study file to write.")] = Path("study.toml"),
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="Where the sessions are; the file names them, and points that fit their lengths.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Write a study file with every key, what it means and its default, to be edited.

    As it stands it changes nothing: every key has a # before it, but `sources` where some are given, and `points` where
    fewer than half of some of their sessions reach the default. `plan --study FILE` says what a run of it would do.
    """
    from flows.config.study import make_study
    from flows.config.study_template import make_template
    from flows.support.atomic_files import write_output
    from flows.support.errors import EvalError, UsageError

    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file, such as {file / 'study.toml'}")
    if file.exists() and not force:
        raise UsageError(f"{file} is there already; --force replaces it, or name another file")
    try:
        write_output(file, make_template(file.name, _choose(sources)).encode())
    except OSError as error:
        raise EvalError(f"{file}: cannot be written: {error.strerror or error}") from None
    make_study({}, str(file))
    if as_json:
        o.echo_json({"study": str(file)})
    else:
        o.echo(f"{file}: edit it, then: compaction-eval plan --study {file}")


def _choose(sources: Sequence[str] | None) -> dict[str, Any]:
    """The keys that some sources ask for."""
    from flows.config.study import Study
    from flows.pipeline.missing_points import propose_points
    from flows.pipeline.plan import inputs_of

    if not sources:
        return {}
    study = Study(sources=tuple(sources))
    points = propose_points(inputs_of(study), study.points)
    return {"sources": study.sources} | ({"points": points} if points != study.points else {})
