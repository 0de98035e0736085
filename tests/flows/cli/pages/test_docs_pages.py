"""The documentation: its commands and queries run, and their output is as it is printed.

A fenced block is run as it stands, unless a comment right before it says why not: ``<!-- not run: REASON -->``, or
``<!-- not run (1, 3): REASON -->`` for these commands of it. What is not run is parsed all the same.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import pytest
import typer

from compaction.tokens import TiktokenCounter
from flows.cli.app import app
from flows.cli.pages.docs_pages import commands
from flows.config.study_template import make_template
from flows.reporting.query_result import render_query
from flows.sessions.session_parts import load_session, read_parts
from flows.store.store import Store
from flows.support.errors import EvalError
from tests import pages
from tests.flows.cli.pages.blocks import DOCS, WRITTEN, blocks, shown_commands, words_of
from tests.flows.conftest import ROOT, Command

KEPT = {
    "it needs sessions of an agent": 2,
    "it needs another tool's output": 1,
    "it needs a key": 16,
    "it needs a cluster": 2,
    "it needs a model": 3,
    "it needs an object store": 2,
    "it needs a package of a peer": 1,
    "it installs": 0,
    "it installs, and runs the tests": 0,
    "it installs, and runs the samples, as tests/flows/cli/pages/test_docs_pages.py does": 0,
    "it runs until it is stopped": 3,
    "it takes a minute": 2,
    "it takes minutes": 5,
    "somebody has to grade": 4,
    "somebody has to label first": 1,
    "it needs labels of readers": 2,
    "a store with more nights": 2,
    "another store, with more methods": 1,
    "tests/test_extending.py writes it into a copy": 0,
    "it runs the pipeline, where tests/flows/cli/pages/test_docs_pages.py has a store already": 0,
    "tests/flows/cli/pages/test_docs_pages.py makes its store with it": 1,
}
"""Reason → how many commands of the pages are not run for it."""


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


MADE = "tests/flows/cli/pages/test_docs_pages.py makes its store with it"


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
    monkeypatch.delenv("COLUMNS", raising=False)  # of the terminal in which the tests were started
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
    (folder / "flows").mkdir()
    (folder / "flows" / "samples").symlink_to(ROOT / "flows" / "samples")
    if page.name != "start.md":  # which makes it itself
        (folder / "study.toml").write_text(make_template())


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


def _printed_by(
    text: str, command: Command, monkeypatch: pytest.MonkeyPatch, printed: dict[tuple[str, ...], str]
) -> str:
    """What a command prints, on a terminal as wide as a ``COLUMNS=…`` before it says."""
    start, name, rest = text.partition("compaction-eval")
    words, width = words_of(name + rest), start.removeprefix("COLUMNS=").strip()
    key = (*words, width) if width else tuple(words)
    if key not in printed:
        with monkeypatch.context() as environment:
            if width:
                environment.setenv("COLUMNS", width)
            ended = command(*words)
        printed[key] = ended.stdout if ended.exit_code == 0 else ended.stderr
    return printed[key]


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
        for one in pages.find_outputs(page):
            if one.is_cell:
                whole = pages.value_of(one.command, names)
            else:
                whole = _printed_by(one.command, command, monkeypatch, printed)
            now = pages.fit_output(whole.replace(f"{parent}/", ""), one.text)
            found.append((one, now))
            if pages.without_volatile(now) != pages.without_volatile(one.text):
                wrong.append(str(one))
        if usual:
            Path("study.toml").write_text(usual)
        if pages.REWRITE in os.environ:
            pages.rewrite_page(page, found)
    return [] if pages.REWRITE in os.environ else wrong


NOT_PRINTED = {
    "no output: a drawing": 3,
    "printed before: it takes three days; from 2026-11-19 to 2026-11-21, on the sample sessions": 1,
}


def test_what_is_not_printed_anew_is_counted_and_no_output_stands_without_its_command() -> None:
    """A new reason is a decision: add it here."""
    assert Counter(pages.reasons_not_run(WRITTEN)) == NOT_PRINTED
    assert [place for page in WRITTEN for place in pages.unmarked_blocks(page)] == []
    assert len([one for page in WRITTEN for one in pages.find_outputs(page)]) >= 11


def test_what_a_page_leaves_out_of_an_output_stays_left_out() -> None:
    printed = "head\na 1\nb 2\n(long)\nc 3\nNote: x\nd 4\n\nlast\n"
    assert pages.fit_output(printed, "any\n") == printed
    assert pages.fit_output(printed, "old\n⋮ (9 more methods)\nold\n") == "head\n⋮ (4 more methods)\nlast\n"
    assert pages.fit_output(printed, "old\n…\nNote: x\nd 9\n…\n") == "head\n…\nNote: x\nd 4\n…\n"
    with pytest.raises(ValueError, match="not in list"):
        pages.fit_output(printed, "old\n…\nNote: y\n…\n")


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
        for message in load_session(found, info).messages:
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
    printed_texts = {one.command for page in WRITTEN for one in pages.find_outputs(page)}
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
                except EvalError as problem:
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

    def gate(method: str, *arguments: str) -> tuple[int, str]:
        ended = subprocess.run(
            ["sh", str(DOCS / "ci" / "gate.sh"), "logs", method, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, (folder / "scorecard.md").read_text() + ended.stderr

    code, said = gate("mask_sweagent", "3.5", "base")
    assert code == 0, said
    assert "**Threshold** holds: mask_sweagent " in said
    assert re.search(r"\*\*Base\*\*: paired on up to \d+ questions", said)
    code, said = gate("codex_local", "4.5")
    assert code == 5
    assert "not reached: codex_local " in said
