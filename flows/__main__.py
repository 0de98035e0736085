"""The command ``compaction-eval`` (``python -m flows``)."""

from __future__ import annotations

import os

from flows.cli.app import app
from flows.support.atomic_files import OWNERS_UMASK


def main() -> None:
    """Run the command.

    What it writes is for its owner alone, but for a store that is shared (``flows.support.atomic_files``).
    """
    os.umask(OWNERS_UMASK)
    app()


if __name__ == "__main__":
    main()
