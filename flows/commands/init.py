"""``init``: a study file to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.commands import options as o
from flows.files import write_output
from flows.problems import Problem, UsageProblem
from flows.study import make_study
from flows.study_template import template


@o.reporting
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The study file to write.")] = Path("study.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Write a study file with every key, what it means and its default, to be edited.

    As it stands it changes nothing: every key has a # before it. `plan --study FILE` says what a run of it would do.
    """
    if file.is_dir():
        raise UsageProblem(f"{file} is a folder; name a file, such as {file / 'study.toml'}")
    if file.exists() and not force:
        raise UsageProblem(f"{file} is there already; --force replaces it, or name another file")
    try:
        write_output(file, template(file.name).encode())
    except OSError as error:
        raise Problem(f"{file}: cannot be written: {error.strerror or error}") from None
    make_study({}, str(file))
    if as_json:
        o.echo_json({"study": str(file)})
    else:
        o.echo(f"{file}: edit it, then: compaction-eval plan --study {file}")
