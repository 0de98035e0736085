"""What the command imports before it has anything to do: nothing heavy, so that it answers at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.flows.conftest import ROOT

HEAVY = {
    "anthropic",
    "asyncio",
    "compaction",
    "dask",
    "duckdb",
    "jinja2",
    "judge",
    "numpy",
    "openai",
    "pandas",
    "polars",
    "prefect",
    "pyarrow",
    "rich",
    "tiktoken",
}
"""What takes a tenth of a second or more, in sum seconds. Typer brings pydantic for the options of a command."""

ASKS = """
import contextlib, io, json, os, sys, typer
from flows.cli.app import app

def ask(*words, **environment):
    os.environ.update(environment)
    sys.argv = ["compaction-eval", *words]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            command(prog_name="compaction-eval")
        except SystemExit as end:
            assert not end.code, (words, end.code)
    for name in environment:
        del os.environ[name]
    loaded = sorted({module.partition(".")[0] for module in sys.modules} & set(json.loads(heavy)))
    assert not loaded, (words, environment, loaded)
    return said.getvalue()

def commands(group, path=()):
    below = getattr(group, "commands", None)
    if below is None:
        yield path
    for name, one in (below or {}).items():
        yield from commands(one, (*path, name))

def offered(typed):
    words = typed.split(" ")
    return ask(
        _COMPACTION_EVAL_COMPLETE="complete_bash", COMP_WORDS=f"compaction-eval {typed}", COMP_CWORD=str(len(words))
    ).split()

heavy = sys.argv[1]
command = typer.main.get_command(app)
assert ask("--version").startswith("compaction-eval ")
known = list(commands(command))
for path in known:
    assert "Examples:" in ask(*path, "-h"), path
for group in {path[:-1] for path in known}:
    assert all(f" {path[-1]} " in ask(*group, "-h") for path in known if path[:-1] == group)
assert "--help" in ask("--help")
assert offered("lea") == ["leaderboard"]
assert offered("run --tok") == ["--tokenizer"]
assert "recorded" in offered("run --points ")
assert "formats" in offered("list ")
print(len(known))
"""


def test_version_help_and_completion_import_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKS, json.dumps(sorted(HEAVY))], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_the_installed_command_imports_nothing_heavy_to_say_its_version() -> None:
    """``-X importtime`` names all that is imported by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "flows", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.stdout.startswith("compaction-eval ")
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert not loaded & HEAVY
