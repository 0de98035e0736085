"""The command ``compaction-eval`` (``python -m flows``)."""

from __future__ import annotations

import gc
import os

from flows.cli.app import app
from flows.support.atomic_files import OWNERS_UMASK
from flows.support.resource_use import COLLECT_AT


def main() -> None:
    """Run the command.

    What it writes is for its owner alone, but for a store that is shared (``flows.support.atomic_files``).
    """
    os.umask(OWNERS_UMASK)
    gc.set_threshold(*COLLECT_AT)
    app()


if __name__ == "__main__":
    main()
