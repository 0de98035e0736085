"""The pages of the documentation, and the fenced blocks and commands that stand in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.cli.pages.docs_pages import PAGES
from tests.flows.conftest import ROOT

DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", *(path for path in sorted(DOCS.glob("*.md")) if path.name not in PAGES)]
"""Pages that somebody wrote. What the others show is tested where it comes from."""

BLOCK = re.compile(r"^(?:<!-- not run(.*?) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"(?: ?\((\d+(?:, \d+)*)\))?: ([^;]+)(?:; |$)")
COMMAND = re.compile(r"^(?:\$ )?(compaction-eval (?:[^\n\\\"]|\\\n|\"[^\"]*\")*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, or one command of it."""

    page: Path
    line: int
    language: str
    text: str
    kept_from: str
    """Why it is not run; blank where it is."""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[tuple[Block, list[tuple[list[int], str]]]]:
    """The blocks of a page, each with its marks: numbers of commands (none: all) and the reason."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        marks = MARK.findall(found[1] or "")
        assert bool(found[1]) == bool(marks), f"{page.name}: a mark without a reason: {found[1]}"
        of = [([int(n) for n in numbers.split(", ")] if numbers else [], reason) for numbers, reason in marks]
        yield Block(page, text[: found.start()].count("\n") + 1, found[2], found[3], of[0][1] if of else ""), of


def shown_commands() -> Iterator[Block]:
    """Every command that stands in a block of its own or among others."""
    for page in WRITTEN:
        for block, marks in blocks(page):
            lines = [line.strip() for line in block.text.splitlines()]
            found = [one[1] for one in COMMAND.finditer(block.text)]
            assert block.language != "sh" or found or any(lines), str(block)
            for number, text in enumerate(found, 1):
                reasons = [reason for numbers, reason in marks if not numbers or number in numbers]
                yield Block(page, block.line, "command", text, reasons[0] if reasons else "")


def words_of(text: str) -> list[str]:
    """The arguments, without comments, redirections and what stands behind a pipe."""
    words = shlex.split(text.replace("\\\n", " "), comments=True)[1:]
    return words[: min([words.index(mark) for mark in (">", "|", "||", "&&") if mark in words], default=len(words))]
