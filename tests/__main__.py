"""``python -m tests``: everything that has to hold before a commit, in the order of what fails fastest."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKERS = 1 + (os.cpu_count() or 1)
"""Processes of pytest: one more than cores, because many tests wait for processes of their own."""
STEPS = ("ruff check .", "ruff format --check .", "mypy", f"pytest -n {WORKERS} --dist worksteal")


def main() -> int:
    """Run the steps; the first that fails ends it with its code. Arguments go to pytest."""
    # The tests start Python hundreds of times; without compiled files each would compile all of the project anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for step in STEPS:
        arguments = [*shlex.split(step), *(sys.argv[1:] if step.startswith("pytest") else ())]
        print(f"$ {shlex.join(arguments)}", flush=True)
        code = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=environment, check=False).returncode
        if code:
            print(f"failed: {shlex.join(arguments)} (exit code {code})", file=sys.stderr)
            return code
    print("all passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
