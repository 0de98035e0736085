"""The documentation: its commands and queries run, what is made from the code is as the code is, and no link is broken.

A fenced block is run as it stands, unless a comment right before it says why not: ``<!-- not run: REASON -->``, or
``<!-- not run (1, 3): REASON -->`` for these commands of it. What is not run is parsed all the same.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from urllib.parse import unquote, urlsplit

import duckdb
import pytest
import typer

from compaction import compact, make_method
from compaction.strategy import _registry
from compaction.testing import history, talk
from compaction.tokens import TiktokenCounter
from flows.__main__ import app
from flows.leaderboard import render_query
from flows.pages import NOTEBOOK, PAGES, commands, notebook
from flows.problems import Problem
from flows.store import Store
from flows.study_template import template
from flows.transcripts import load, read_parts
from tests import pages

from .conftest import ROOT, Command

DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", *(path for path in sorted(DOCS.glob("*.md")) if path.name not in PAGES)]
"""Pages that somebody wrote. What the others show is tested where it comes from."""

BLOCK = re.compile(r"^(?:<!-- not run(.*?) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"(?: ?\((\d+(?:, \d+)*)\))?: ([^;]+)(?:; |$)")
COMMAND = re.compile(r"^(?:\$ )?(compaction-eval (?:[^\n\\\"]|\\\n|\"[^\"]*\")*)", re.MULTILINE)

KEPT = {
    "it needs a key": 11,
    "it needs a cluster": 4,
    "it needs a model": 1,
    "it needs an object store": 3,
    "it needs a package of a peer": 1,
    "it fetches a model": 0,
    "it installs": 0,
    "it installs, and runs the tests": 0,
    "it installs, and runs the samples, as tests/flows/test_pages.py does": 0,
    "it runs until it is stopped": 2,
    "it takes a minute": 3,
    "it takes minutes": 7,
    "somebody has to label first": 1,
    "a store with more nights": 2,
    "another store, with more methods": 1,
    "what it takes from the package is left out": 0,
    "it runs the pipeline, where tests/flows/test_pages.py has a store already": 0,
    "tests/flows/test_pages.py makes its store with it": 1,
}
"""Reason → how many commands of the pages are not run for it."""


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


COMMANDS = list(shown_commands())
PATHS = list(commands(typer.main.get_command(app)))


def test_every_command_of_the_pages_can_be_parsed() -> None:
    main = typer.main.get_command(app)
    wrong = []
    for one in COMMANDS:
        words = words_of(one.text)
        path = next((path for path in PATHS if tuple(words[: len(path)]) == path), None)
        if words and words[0].startswith("--"):
            continue
        if path is None:
            wrong.append(f"{one}: no such command: {one.text}")
            continue
        found: object = main
        for word in path:
            found = found.commands[word]  # type: ignore[attr-defined]
        try:
            found.make_context("compaction-eval", words[len(path) :])  # type: ignore[attr-defined]
        except Exception as error:  # what is wrong with it is told below
            wrong.append(f"{one}: {one.text}: {error}")
    assert wrong == []
    assert len(COMMANDS) > 60


def test_what_is_not_run_is_counted() -> None:
    """A new mark is a decision: add it here."""
    kept = Counter(one.kept_from for one in COMMANDS if one.kept_from)
    assert kept == {reason: number for reason, number in KEPT.items() if number}
    reasons = {reason for page in WRITTEN for _, marks in blocks(page) for _, reason in marks}
    assert reasons <= set(KEPT)


MADE = "tests/flows/test_pages.py makes its store with it"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_the_pages_show_is_what_the_commands_print(
    tmp_path: Path, working_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two stores, the one of the README and the one of ``start.md``, and then all other commands and queries run.

    One test, so that each store is made once: a minute of one core.
    """
    (tmp_path / "logs").symlink_to(ROOT / "flows" / "samples")
    monkeypatch.chdir(tmp_path)
    [make] = [one for one in COMMANDS if one.kept_from == MADE]
    printed = {}
    for text in ("compaction-eval run", make.text):
        made = working_command(*words_of(text), "--quiet")
        assert made.exit_code == 0, made.output
        printed[tuple(words_of(text))] = made.stdout
    _label_a_copy(tmp_path, working_command)
    for page in WRITTEN:
        _folder_of(page, tmp_path)
    wrong = _not_as_printed(tmp_path, working_command, monkeypatch, printed)
    assert wrong == [], "print them again: python -m tests.pages"
    if pages.REWRITE in os.environ:
        return
    _check_frames(tmp_path, monkeypatch)
    store = tmp_path / "my-store"
    _check_token_counts(store)
    wrong = [*_failing_commands(tmp_path, working_command, monkeypatch), *_failing_queries(store / "scores.duckdb")]
    assert wrong == []
    _check_gate(tmp_path, store)


STORES = ("compaction-eval-store", "my-store", "rated-store")


def _folder_of(page: Path, parent: Path) -> None:
    """Where the commands of a page run: with the logs and the stores that the pages name."""
    folder = parent / f"of {page.name}"
    folder.mkdir()
    for name in (*STORES, "logs"):
        (folder / name).symlink_to(parent / name)
    if page.name != "start.md":  # which makes it itself
        (folder / "study.toml").write_text(template())


def _label_a_copy(folder: Path, command: Command) -> None:
    """A copy of a store with labels as ``calibration.md`` says: of a rater who is like the judge, but noisy."""
    shutil.copytree(folder / "my-store", folder / "rated-store")
    drawn = command("calibrate", "--sample", 60, "--output", "sheet.csv", "--store", "rated-store")
    assert drawn.exit_code == 0, drawn.output
    with duckdb.connect(str(folder / "rated-store" / "scores.duckdb"), read_only=True) as connection:
        scores = connection.execute("SELECT answer_id, criterion, score FROM scores WHERE score IS NOT NULL").fetchall()
    judged = {(answer, criterion): score for answer, criterion, score in scores}
    rng = Random(20261122)
    with Path("sheet.csv").open(encoding="utf-8-sig", newline="") as sheet, Path("labels.csv").open("w") as labels:
        rows = csv.DictReader(sheet)
        writer = csv.DictWriter(labels, rows.fieldnames or ())
        writer.writeheader()
        for row in rows:
            for criterion, score in row.items():
                if score == "" and (row["answer_id"], criterion) in judged:
                    mean = 0.8 * judged[row["answer_id"], criterion] + 0.3
                    row[criterion] = str(min(5, max(0, round(rng.gauss(mean, 0.7)))))
            writer.writerow(row)
    taken = command("calibrate", "labels.csv", "--store", "rated-store", "--rater", "synthetic")
    assert taken.exit_code == 0, taken.output


SLIPS = {"operating.md": "sources = ['logs']\n\nhistory = 'loop'\n"}
"""Page → a study with the slip whose message it shows."""


def _not_as_printed(
    parent: Path, command: Command, monkeypatch: pytest.MonkeyPatch, printed: dict[tuple[str, ...], str]
) -> list[str]:
    wrong = []
    for page in WRITTEN:
        monkeypatch.chdir(parent / f"of {page.name}")
        names: dict[str, object] = {}
        found = []
        usual = Path("study.toml").read_text() if page.name in SLIPS else ""
        if usual:
            Path("study.toml").write_text(SLIPS[page.name])
        for one in pages.shown_in(page):
            if one.is_cell:
                whole = pages.value_of(one.command, names)
            elif (words := tuple(words_of(one.command))) in printed:
                whole = printed[words]
            else:
                ended = command(*words)
                whole = printed[words] = ended.stdout if ended.exit_code == 0 else ended.stderr
            now = pages.fitted(whole.replace(f"{parent}/", ""), one.text)
            found.append((one, now))
            if pages.without_volatile(now) != pages.without_volatile(one.text):
                wrong.append(str(one))
        if usual:
            Path("study.toml").write_text(usual)
        if pages.REWRITE in os.environ:
            pages.rewrite(page, found)
    return [] if pages.REWRITE in os.environ else wrong


NOT_PRINTED = {
    "no output: a drawing": 1,
    "printed before: it fetches a model; on 2026-11-20": 1,
    "printed before: it takes three days; from 2026-11-19 to 2026-11-21, on the sample sessions": 1,
}


def test_what_is_not_printed_anew_is_counted_and_no_output_stands_without_its_command() -> None:
    """A new reason is a decision: add it here."""
    assert Counter(pages.reasons(WRITTEN)) == NOT_PRINTED
    assert [place for page in WRITTEN for place in pages.unmarked(page)] == []
    assert len([one for page in WRITTEN for one in pages.shown_in(page)]) >= 11


def test_what_a_page_leaves_out_of_an_output_stays_left_out() -> None:
    printed = "head\na 1\nb 2\n(long)\nc 3\nNote: x\nd 4\n\nlast\n"
    assert pages.fitted(printed, "any\n") == printed
    assert pages.fitted(printed, "old\n⋮ (9 more methods)\nold\n") == "head\n⋮ (4 more methods)\nlast\n"
    assert pages.fitted(printed, "old\n…\nNote: x\nd 9\n…\n") == "head\n…\nNote: x\nd 4\n…\n"
    with pytest.raises(ValueError, match="not in list"):
        pages.fitted(printed, "old\n…\nNote: y\n…\n")


def _check_token_counts(store: Path) -> None:
    """The counts in a store are those of the rule that ``formats.md`` gives, worked out here from the messages."""
    counter = TiktokenCounter()
    found = Store.open(str(store))
    n_messages = Counter[str]()
    with duckdb.connect(str(found.database), read_only=True) as connection:
        sessions = dict(connection.execute("SELECT session_id, n_tokens FROM sessions").fetchall())
        points = connection.execute("SELECT session_id, cut_seq, tokens_before FROM points").fetchall()
    for info in (info for part in read_parts(found) for info in part.sessions):
        counts = []
        for message in load(found, info).messages:
            parts = [message.reasoning, message.text, *(t for c in message.tool_calls for t in (c.name, c.arguments))]
            counts.append(counter.count("\n".join(filter(None, parts))))
            n_messages.update({"reasoning": bool(message.reasoning), "calls": bool(message.tool_calls)})
        assert sum(counts) == sessions[info.session_id]
        for _, cut, before in (point for point in points if point[0] == info.session_id):
            assert sum(counts[:cut]) == before
    assert points
    assert n_messages["reasoning"] > 10
    assert n_messages["calls"] > 100


def _check_frames(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the README gives frames of the store that its first command makes."""
    monkeypatch.chdir(parent)
    [code] = [block.text for block, _ in blocks(ROOT / "README.md") if "open_results" in block.text]
    exec(compile(code, "README.md", "exec", dont_inherit=True), found := {})
    with found["results"] as results:
        assert results.frame("paired_differences").height > 1000
        assert results.query("quality_and_tokens").height == results.leaderboard().height


def _failing_commands(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    done = set()
    printed_texts = {one.command for page in WRITTEN for one in pages.shown_in(page)}
    for page in WRITTEN:
        folder = tmp_path / f"of {page.name}"
        (folder / "compaction-eval-store").unlink()
        (folder / "compaction-eval-store").symlink_to(tmp_path / "my-store")  # the smaller one does here
        monkeypatch.chdir(folder)
        for one in COMMANDS:
            words = words_of(one.text)
            same = _without_places(words)
            if one.page != page or one.kept_from or same in done or one.text in printed_texts:
                continue
            done.add(same)
            result = command(*words)
            if result.exit_code != (1 if "doctor" in words and "broken" in result.stdout else 0):
                yield f"{one}: {one.text} ends with {result.exit_code}: {result.stderr}"


def _without_places(words: list[str]) -> tuple[str, ...]:
    """What a command does, wherever: pages share the store, so the same command need not run again."""
    kept = list(words)
    for option in ("--store", "--output", "-o"):
        if option in kept[1:]:
            at = kept.index(option)
            del kept[at : at + 2]
    return tuple(kept)


def _failing_queries(database: Path) -> Iterator[str]:
    number = 0
    for page in WRITTEN:
        for block, marks in blocks(page):
            if block.language == "sql" and not marks:
                number += 1
                try:
                    render_query(database, block.text)
                except Problem as problem:
                    yield f"{block}: {problem}"
    assert number >= 10


def _check_gate(folder: Path, store: Path) -> None:
    """The script of the workflow, on stores that are complete, so that its runs have nothing to do."""
    for name in ("head-store", "base-store"):
        (folder / name).symlink_to(store)
    binaries = folder / "bin"
    binaries.mkdir()
    script = binaries / "compaction-eval"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flows "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def gate(*arguments: str) -> tuple[int, str]:
        ended = subprocess.run(
            ["sh", str(DOCS / "ci" / "gate.sh"), "logs", "mask_sweagent", *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return ended.returncode, (folder / "scorecard.md").read_text() + ended.stderr

    code, said = gate("3.5", "base")
    assert code == 0, said
    assert "**Threshold** holds: mask_sweagent 4.2" in said
    assert "**Base**: paired on up to 42 questions" in said
    code, said = gate("4.5")
    assert code == 5
    assert "not reached: mask_sweagent 4.2" in said


def test_the_workflow_runs_the_script_and_takes_no_more_rights_than_it_needs() -> None:
    yaml = pytest.importorskip("yaml")  # Prefect brings it
    found = yaml.safe_load((DOCS / "ci" / "compaction.yml").read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps = found["jobs"]["scorecard"]["steps"]
    assert any("sh docs/ci/gate.sh " in step.get("run", "") for step in steps)
    assert all("@v" in step["uses"] for step in steps if "uses" in step)


@pytest.mark.parametrize("language", ["python", "toml"])
def test_python_and_toml_of_the_pages_can_be_read(language: str) -> None:
    found = [block for page in WRITTEN for block, _ in blocks(page) if block.language == language]
    assert len(found) > 3
    for block in found:
        if language == "toml":
            tomllib.loads(block.text)
        else:
            compile(block.text, str(block), "exec", dont_inherit=True)


def test_commands_stand_in_blocks_that_say_what_they_are() -> None:
    """So that a reader, and this test, can tell them from what a command prints."""
    wrong = [str(one) for page in WRITTEN for one, _ in blocks(page)
             if one.language in ("", "text") and COMMAND.search(one.text)]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_is_as_the_code_is(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "make it again: python -m flows.pages docs"


def test_the_notebook_is_the_page_whose_cells_are_tested() -> None:
    text = (DOCS / NOTEBOOK).read_text("utf-8")
    page = (DOCS / "notebooks.md").read_text("utf-8")
    assert text == notebook(page), "make it again: python -m flows.pages docs"
    cells = json.loads(text)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.text.rstrip("\n") for block, _ in blocks(DOCS / "notebooks.md") if block.language == "python"]
    assert sum(len(cell["outputs"]) for cell in cells if cell["cell_type"] == "code") >= 4


class Links(HTMLParser):
    """What a page of the site refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.to_pages: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.to_pages.append(found["href"] or "")
        elif tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(found["src"] or "")
        elif tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.loaded.append(found["href"] or "")


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="the extra docs is not installed")
def test_the_site_builds_strictly_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    config = (ROOT / "zensical.toml").read_text("utf-8")
    (tmp_path / "zensical.toml").write_text(config)
    shutil.copytree(DOCS, tmp_path / "docs")
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / "build" / "site"
    in_navigation = set(re.findall(r'"([\w-]+\.md)"', config))
    assert in_navigation == {path.name for path in DOCS.glob("*.md")}
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        links = Links()
        links.feed(page.read_text("utf-8"))
        assert [one for one in links.loaded if urlsplit(one).scheme] == [], page
        for link in links.to_pages:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.parametrize(
    ("page", "id", "flags"),
    [("extending.md", "every_other", ("invalid_context",)), ("strategies.md", "our_short_results", ())],
)
def test_a_strategy_of_the_pages_runs_as_the_page_says(page: str, id: str, flags: tuple[str, ...]) -> None:
    [code] = [block.text for block, _ in blocks(DOCS / page) if f'@strategy("{id}"' in block.text]
    try:
        exec(compile(code, page, "exec", dont_inherit=True), {})
        left = compact(history(talk("s u " + "a1 " * 12 + "u")), make_method(id))
    finally:
        _registry.pop(id, None)
    assert left.flags == flags
