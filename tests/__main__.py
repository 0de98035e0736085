"""``python -m tests``: everything that has to hold before a commit, in the order of what fails fastest.

``python -m tests --for PATH…`` runs what is near to changed files: the linter on them, the tests that use them, and, of
what holds for everything that can be added, what is about them (``tests.nearby``). Slow tests are left out.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.nearby import nearby

ROOT = Path(__file__).parents[1]
WORKERS = 1 + (os.cpu_count() or 1)
"""Processes of pytest: one more than cores, because many tests wait for processes of their own."""
STEPS = (
    "ruff check .",
    "ruff format --check .",
    "mypy",
    "tests.imports",
    f"pytest -n {WORKERS} --dist worksteal --durations 10",
)


def main() -> int:
    """Run the steps; the first that fails ends it with its code. Arguments go to pytest, but for those of ``--for``."""
    if sys.argv[1:2] == ["--for"]:
        changed = sys.argv[2:]
        python = [path for path in changed if path.endswith(".py")]
        linter = (f"ruff check {shlex.join(python)}",) if python else ()
        near = nearby(map(Path, changed))
        only = [f"--only={name}" for name in near.only]
        pytest = f'pytest -n {WORKERS} -m "not slow and not benchmark" -p tests.nearby'
        return run((*linter, f"{pytest} {shlex.join([*only, *near.tests])}"))
    with compiling():
        return run((*STEPS[:-1], f"{STEPS[-1]} {shlex.join(sys.argv[1:])}"))


@contextmanager
def compiling() -> Iterator[None]:
    """Have pytest compile its modules beside the linters, where it has not yet.

    Each of its processes would take half a minute of a core for the same, all at the same time.
    """
    if any((ROOT / "tests").rglob("*-pytest-*.pyc")):
        yield
        return
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
    with subprocess.Popen(collect, cwd=ROOT, env=_environment(), stdout=subprocess.DEVNULL) as under_way:
        try:
            yield
        finally:
            under_way.terminate()


def _environment() -> dict[str, str]:
    """The one of this process, in which Python may write compiled files.

    The tests start Python hundreds of times; without them each would compile all of the project anew.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(steps: Sequence[str]) -> int:
    """Run modules of Python one after the other; the code of the first that fails, else 0."""
    for step in steps:
        arguments = shlex.split(step)
        print(f"$ {shlex.join(arguments)}", flush=True)
        code = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=_environment(), check=False).returncode
        if code:
            print(f"failed: {shlex.join(arguments)} (exit code {code})", file=sys.stderr)
            return code
    print("all passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
