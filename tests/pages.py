"""What the pages show of a command is what it prints: ``python -m tests.pages`` prints it anew into the pages.

Where output stands in a page:

- after its ``$ command`` in a ``console`` block;
- in a ``text``, ``markdown`` or plain block below ``<!-- printed by: COMMAND -->``;
- in a ``text`` block below a ``python`` block of ``notebooks.md``: what the last line of the cell is.

Part of it may be left out: a line ``…``, or ``⋮ (12 more methods)``, stands for what is not shown. As many lines as
stand before the first and after the last such line are shown; a part in between begins with its first line, word for
word.

A block that cannot be printed here has ``<!-- printed before: REASON -->``, saying how it was got and when, and one
that is no output ``<!-- no output: WHAT -->``. Tests count the reasons, and compare all else to the letter.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REWRITE = "COMPACTION_EVAL_REWRITE_PAGES"
"""Set: the test writes what it finds into the pages, where it would compare otherwise."""

BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[a-z ]+?)(?P<of> \([\d, ]+\))?: (?P<said>.+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
COMMAND = re.compile(r"^\$ (compaction-eval (?:[^\n\\\"]|\\\n|\"[^\"]*\")*)\n", re.M)
LEFT_OUT = re.compile(r"^(?:…|⋮ \(\d+ more (\w+)\))$")
SHOWS = ("", "text", "markdown")
"""Languages of blocks that are output, unless a mark says otherwise."""

VOLATILE: tuple[tuple[str, str], ...] = (
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?\b", "DATE TIME"),
    (r"\b[\d.,]+ s\b", "N s"),
)
"""What differs from run to run, and is not compared: pattern → what stands in its place."""


@dataclass(frozen=True)
class PageOutput:
    """Output in a page."""

    page: Path
    start: int
    """Where it begins in the text of the page."""
    text: str
    command: str
    """What prints it; the source of a cell where it is Python."""
    is_cell: bool = False

    def __str__(self) -> str:
        return f"{self.page.name}: {self.command.splitlines()[0]}"


def find_outputs(page: Path) -> Iterator[PageOutput]:
    """All output in a page whose command or code is in the page too."""
    text = page.read_text(encoding="utf-8")
    cell = ""
    for block in BLOCK.finditer(text):
        language, body = block["language"], block["text"]
        if block["mark"] == "printed by":
            yield PageOutput(page, block.start("text"), body, block["said"])
        elif language == "console" and (block["mark"] != "not run" or block["of"]):
            yield from _console_outputs(page, block)
        elif language == "text" and cell:
            yield PageOutput(page, block.start("text"), body, cell, is_cell=True)
        cell = body if language == "python" and page.name == "notebooks.md" else ""


def _console_outputs(page: Path, block: re.Match[str]) -> Iterator[PageOutput]:
    """The outputs in a console block, but those of commands that are not run."""
    kept = {int(number) for number in re.findall(r"\d+", block["of"] or "")}
    for number, found in enumerate(COMMAND.finditer(block["text"]), 1):
        rest = block["text"][found.end() :]
        output = re.split(r"^\$ ", rest, maxsplit=1, flags=re.M)[0]
        if output.strip() and number not in kept:
            yield PageOutput(page, block.start("text") + found.end(), output, found[1])


def unmarked_blocks(page: Path) -> list[str]:
    """Blocks that look like output but do not name what printed them."""
    text = page.read_text(encoding="utf-8")
    starts = {one.start for one in find_outputs(page)}
    return [
        f"{page.name}:{text[: block.start()].count(chr(10)) + 1}"
        for block in BLOCK.finditer(text)
        if block["language"] in SHOWS and not block["mark"] and block.start("text") not in starts
    ]


def reasons_not_run(pages: Sequence[Path]) -> list[str]:
    """The reasons why blocks of output are not printed anew, with repetitions."""
    found = [block for page in pages for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    return [f"{block['mark']}: {block['said']}" for block in found if block["mark"] in ("printed before", "no output")]


def fit_output(printed: str, shown: str) -> str:
    """The part of what was printed that the page shows, with its lines for what is left out.

    Raises ValueError where a part begins with a line that was not printed.
    """
    lines = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    parts: list[list[str]] = [[]]
    gaps: list[re.Match[str]] = []
    for line in shown.rstrip("\n").splitlines():
        if gap := LEFT_OUT.match(line):
            gaps.append(gap)
            parts.append([])
        else:
            parts[-1].append(line)
    if not gaps:
        return "\n".join(lines) + "\n"
    spans = [(0, len(parts[0]))]
    for part in parts[1:-1]:
        start = lines.index(part[0], spans[-1][1])
        spans.append((start, start + len(part)))
    spans.append((len(lines) - len(parts[-1]), len(lines)))
    made: list[str] = []
    for number, (start, end) in enumerate(spans):
        if number:
            what = gaps[number - 1][1]
            between = lines[spans[number - 1][1] : start]
            left_out = [line for line in between if re.search(r"\d$", line)]  # of a folded row the last line has none
            made.append(f"⋮ ({len(left_out)} more {what})" if what else "…")
        made += lines[start:end]
    return "\n".join(made) + "\n"


def value_of(cell: str, names: dict[str, Any]) -> str:
    """What a notebook shows below a cell: its last line, if that is an expression."""
    *body, last = ast.parse(cell).body
    if not isinstance(last, ast.Expr):
        body, value = [*body, last], None
    else:
        value = ast.Expression(last.value)
    exec(compile(ast.Module(body, []), "cell", "exec", dont_inherit=True), names)
    return "" if value is None else repr(eval(compile(value, "cell", "eval", dont_inherit=True), names))


def without_volatile(text: str) -> str:
    """A text to compare."""
    for pattern, placeholder in VOLATILE:
        text = re.sub(pattern, placeholder, text)
    return text


def rewrite_page(page: Path, found: Sequence[tuple[PageOutput, str]]) -> None:
    """Replace the outputs in a page by what was printed."""
    text = page.read_text(encoding="utf-8")
    for one, now in sorted(found, key=lambda pair: -pair[0].start):
        text = text[: one.start] + now + text[one.start + len(one.text) :]
    page.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the test that prints all of it, and have it write; then make docs/methods.md anew."""
    test = "tests/flows/cli/pages/test_docs_pages.py::test_what_the_pages_show_is_what_the_commands_print"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", test]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, REWRITE: "1"}, check=False).returncode
    made = [sys.executable, "-m", "flows.cli.pages.docs_pages", "docs"]
    return code or subprocess.run(made, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
