"""``python -m tests.size``: how large the project is, and how large it may be.

The limits are in ``tests/golden/size.json``. ``python -m tests.size --pin`` writes today's counts there, rounded up to
the next hundred; a commit that raises one says what it adds, and what it takes away.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tests" / "golden" / "size.json"
PACKAGES = ("compaction_eval", "compaction", "judge", "flows", "sql")
DOCS = (".md", ".py", ".js", ".sh", ".yml")


def count_sizes() -> dict[str, int]:
    """What is counted → how much of it there is."""
    product = [*ROOT.glob("*.py"), *(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))]
    docs = [path for path in (ROOT / "docs").rglob("*") if path.suffix in DOCS]
    return {
        "lines of product Python": sum(len(_read(path).splitlines()) for path in product),
        "lines of SQL": sum(len(_read(path).splitlines()) for path in (ROOT / "sql").rglob("*.sql")),
        "lines of tests": sum(len(_read(path).splitlines()) for path in (ROOT / "tests").rglob("*.py")),
        "words of docs": sum(len(_read(path).split()) for path in docs),
    }


def read_limits() -> dict[str, int]:
    """What is counted → how much of it there may be."""
    limits: dict[str, int] = json.loads(_read(LIMITS))
    return limits


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> None:
    """Print limit, count and difference; with ``--pin`` write the counts as the new limits."""
    counts, limits = count_sizes(), read_limits()
    for name, count in counts.items():
        print(f"{name:<24} {limits[name]:>8,} -> {count:>8,} {count - limits[name]:>+8,}")
    if sys.argv[1:] == ["--pin"]:
        rounded = {name: -(-count // 100) * 100 for name, count in counts.items()}
        LIMITS.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
