"""``python -m tests.imports``: the contracts of pyproject.toml on who may import whom (import-linter has no ``-m``)."""

from __future__ import annotations

import sys

from importlinter.cli import lint_imports

if __name__ == "__main__":
    sys.exit(lint_imports(no_cache=True, no_logo=True))
