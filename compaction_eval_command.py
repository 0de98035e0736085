"""The installed command ``compaction-eval``, and which folder is in the way of the project's own packages.

It stands outside of ``compaction_eval``, whose import is refused where a folder is in the way; the command never minds.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent
OWN = ("compaction", "judge", "flows", "sql")


def in_the_way() -> tuple[Path, str] | None:
    """The first folder of ``sys.path`` whose package stands before one of ours, and its name; None where none does."""
    for name in OWN:
        found = PathFinder.find_spec(name)
        place = Path(found.origin).resolve() if found is not None and found.origin else HOME / name
        folder = place.parent.parent if place.name == "__init__.py" else place.parent
        if folder != HOME:
            return folder, name
    return None


def main() -> None:
    """Run the command with our own packages first, in the processes that it starts too."""
    os.environ["PYTHONSAFEPATH"] = "1"  # or `python -m` looks into the current folder before all others
    if in_the_way():
        sys.path.insert(0, str(HOME))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HOME), os.environ.get("PYTHONPATH"))))
    from flows.__main__ import main as run  # noqa: PLC0415 (when the path is right)

    run()


def __getattr__(name: str) -> Any:
    """The flow of a night, for ``serve``.

    Prefect imports the module of a flow with the current folder before all others. That is over when it asks the module
    for the flow, so that the flow's own imports do not mind what is in that folder.
    """
    if name != "nightly":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from flows.nightly import nightly  # noqa: PLC0415 (as above)

    return nightly
