"""``python -m tests.dialect``: how many docstrings are riddles, and which functions a bare participle names.

A riddle is a first sentence that hides its subject: ``What the other has``, ``By which it is chosen``. The rules below
look at the words alone, so they miss some riddles and take some plain sentences for one. ``tests/test_dialect.py``
holds the limits.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("compaction", "judge", "flows", "sql")

PREPOSITION = "about|after|at|before|behind|beside|by|for|from|in|into|of|on|over|through|to|under|with|without"
RELATIVE = "what|which|whom|whose|who|how|where|when|why"
RULES = {
    "begins with a relative": rf"(?:also |nothing but |not )?(?:{RELATIVE}|that) ",
    "begins with a preposition": rf"(?:{PREPOSITION}|as) ",
    "begins with a pronoun": r"(?:it|its|they|their|those|such|others?|each|one (?:of|for|that|to))\b",
    "begins with a word for nothing": r"(?:nothing|something|everything|none|anything|the same\b)",
    "acts on an unnamed thing": r"\w+ (?:it|them|what|those)\b",
    "asks of what, by which": r".*\b(?:about|behind|by|for|from|in|of|on|to|with) (?:what|which|whom|whose|who)\b",
    "ends with a preposition": r"[^;:]*[a-z] (?:at|by|for|from|in|of|on|to|with)[.]$",
    "ends with a question": r".*; (?:whether|what|how|where|why) ",
    "asks twice": r".*\bwhat\b.*\bwhat\b",
}
IRREGULAR = (
    "begun broken built chosen cut done drawn fed felt found given gone grown heard held hidden kept known laid left "
    "lost made meant met paid put said seen sent set shown spent split spoken taken thought thrown told understood won "
    "written"
)
NO_PARTICIPLES = {"feed", "seed", "need", "embed", "exceed", "proceed", "succeed", "cut", "put", "set", "split"}


@dataclass(frozen=True)
class Docstring:
    """The first sentence of a module, class or function."""

    path: str
    line: int
    kind: str
    name: str
    sentence: str

    def find_rule(self) -> str | None:
        """Return the first rule that calls the sentence a riddle."""
        lowered = self.sentence.lower()
        if self.kind in ("class", "module") and lowered.startswith("whether "):
            return "begins with a relative"
        if self.kind == "function" and len(lowered.split()) < 3:
            return "says too little"
        return next((name for name, rule in RULES.items() if re.match(rule, lowered)), None)

    def is_named_by_participle(self) -> bool:
        """Whether a function has a participle as its whole name: ``found``, ``_counted``."""
        word = self.name.strip("_")
        if self.kind != "function" or word in NO_PARTICIPLES:
            return False
        return word in IRREGULAR.split() or re.fullmatch(r"[a-z]+ed", word) is not None


def read_docstrings(root: Path, folders: Iterable[str]) -> Iterator[Docstring]:
    """Yield the documented modules, classes and functions below some folders."""
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    sentence = re.split(r"(?<=[.])\s", " ".join(text.split("\n\n")[0].split()))[0]
                    name, line = getattr(node, "name", path.stem), getattr(node, "lineno", 1)
                    yield Docstring(path.relative_to(root).as_posix(), line, _kind_of(node), name, sentence)


def _kind_of(node: ast.AST) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return "property" if any("property" in ast.unparse(d) for d in node.decorator_list) else "function"
    return "class" if isinstance(node, ast.ClassDef) else "module"


def folder_of(found: Docstring) -> str:
    """Return the first two folders of a docstring's path."""
    return "/".join(found.path.split("/")[:-1][:2])


def count_riddles(docstrings: Iterable[Docstring]) -> dict[str, tuple[int, int]]:
    """Count the docstrings and the riddles of each folder."""
    docstrings = list(docstrings)
    riddles = Counter(folder_of(each) for each in docstrings if each.find_rule())
    return {folder: (n, riddles[folder]) for folder, n in sorted(Counter(map(folder_of, docstrings)).items())}


def main() -> None:
    """Print the counts of each folder; then the riddles of the folders that are named, or of the worst one."""
    docstrings = list(read_docstrings(ROOT, PACKAGES))
    counts = count_riddles(docstrings)
    for folder, (n, riddles) in counts.items():
        print(f"{folder:<26} {n:>6,} {riddles:>6,} {riddles / n:>6.1%}")
    total = sum(riddles for _, riddles in counts.values())
    print(f"{'all':<26} {len(docstrings):>6,} {total:>6,} {total / len(docstrings):>6.1%}")
    print(f"{'named by a participle':<26} {sum(each.is_named_by_participle() for each in docstrings):>6,}")
    worst = max(counts, key=lambda folder: counts[folder][1] / counts[folder][0])
    for each in docstrings:
        if each.path.startswith(tuple(sys.argv[1:]) or worst) and each.find_rule():
            print(f"{each.path}:{each.line} {each.name} ({each.find_rule()}): {each.sentence}")


if __name__ == "__main__":
    main()
