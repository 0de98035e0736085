"""What holds of every command: help with examples, one JSON document, completion by the shell, progress in lines."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.shared.options import echo_json
from flows.llm.cache.meter import CallMeter, MeterReading
from flows.llm.cache.records import JournalEntry
from flows.store.store import STORE_FORMAT
from flows.support.progress import Bars, Lines
from tests.flows.conftest import Command
from tests.sql.loaded import make_loaded
from tests.sql.tiny import tiny


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words, from the application itself."""
    for name, one in (group or typer.main.get_command(app)).commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        else:
            yield (*path, name), one


COMMANDS = dict(commands())

WITHOUT_JSON = {
    ("serve",): "it runs until it is stopped, and prints no data",
    ("view",): "the same; it prints one address",
}

ROWS = [
    ["leaderboard"],
    ["leaderboard", "--by", "task_type"],
    ["sql", "SELECT 1.5 AS a"],
    ["accounting"],
    ["accounting", "--by", "input"],
    ["accounting", "--family"],
    ["query"],
    ["query", "gaps"],
    ["query", "gaps", "--output", "gaps.csv"],
    ["sql", "SELECT 1 AS a", "--output", "a.csv"],
    ["export", "sessions", "--output", "out"],
    ["compare", "keep", "cut", "--judge", "embedded"],
    ["recommend", "--judge", "embedded", "--baseline", "keep"],
    ["list", "strategies"],
    ["list", "formats"],
    ["list", "judges"],
    ["list", "rubrics"],
    ["describe", "head_tail"],
]
OBJECTS = [
    ["scorecard"],
    ["report", "report.html"],
    ["query", "gaps", "--show"],
    ["cache", "stats"],
    ["cache", "prune", "--all", "--dry-run"],
    ["calibrate"],
    ["init"],
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = make_loaded(tiny(), tmp_path_factory.mktemp("tiny")).parent
    (found / "store.json").write_text(json.dumps({"format": STORE_FORMAT, "tokenizer": "o200k_base"}))
    return found


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_has_examples_that_can_be_parsed(command: Command, path: tuple[str, ...]) -> None:
    shown = command(*path, "--help")
    assert shown.exit_code == 0
    assert len(shown.output.partition("\n\n")[2].strip().splitlines()[0]) > 20, "says what it does"
    examples = re.findall(r"^ +compaction-eval (.+)$", shown.output.partition("Examples:")[2], re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(example.partition(" > ")[0])
        assert tuple(words[: len(path)]) == path
        COMMANDS[path].make_context("compaction-eval", words[len(path) :])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["list", "strategy"], "(did you mean strategies?)"),
        (["export", "sessions", "--format", "csvv"], "(did you mean csv?)"),
        (["lost", "--agent", "claude"], "(did you mean claude_code?)"),
        (["run", "--strategis", "none"], "(did you mean --strategies?)"),
    ],
)
def test_a_value_or_an_option_that_nothing_has_is_answered_with_the_nearest_one(
    command: Command, typed: list[str], meant: str
) -> None:
    shown = command(*typed)
    assert shown.exit_code == 2
    assert meant in " ".join(shown.stderr.split())
    assert "Value error" not in shown.stderr


@pytest.mark.parametrize("group", [[], ["audit"], ["cache"], ["store"]], ids=" ".join)
def test_the_help_of_a_group_shows_commands_of_it(command: Command, group: list[str]) -> None:
    examples = re.findall(r"^ +compaction-eval (.+)$", command(*group, "--help").stdout, re.MULTILINE)
    assert examples
    for example in examples:
        assert _path(shlex.split(example))[: len(group)] == tuple(group)


@pytest.mark.parametrize("typed", [["list", "strategies"], ["list", "formats"], ["doctor"]], ids=" ".join)
def test_a_list_fits_into_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch, typed: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = command(*typed).stdout.splitlines()
    assert max(len(line) for line in lines if len(line.split()) > 1) <= 80, "a path alone on its line stays whole"
    assert any(line.startswith("         ") for line in lines), "goes on below its beginning"


def test_every_command_with_data_to_print_takes_json() -> None:
    without = {path for path, one in COMMANDS.items() if not any("--json" in found.opts for found in one.params)}
    assert without == set(WITHOUT_JSON)


@pytest.mark.parametrize("arguments", [*ROWS, *OBJECTS], ids=" ".join)
def test_json_is_one_document_on_stdout_rows_as_a_list_all_else_an_object(
    command: Command, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    takes_store = any("--store" in one.opts for one in COMMANDS[_path(arguments)].params)
    result = command(*arguments, "--json", *(("--store", store) if takes_store else ()))
    found = json.loads(result.stdout)
    assert result.exit_code == 0, result.output
    assert isinstance(found, dict if arguments in OBJECTS else list)
    assert found
    if isinstance(found, list):
        assert all(isinstance(row, dict) for row in found)


def test_what_json_cannot_say_is_null_or_text(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"nan": float("nan"), "path": Path("a/ü"), 3: None})
    assert json.loads(capsys.readouterr().out) == {"nan": None, "path": "a/ü", "3": None}


@pytest.mark.parametrize(
    ("typed", "code", "meant"),
    [
        ("leaderboard --store none --json", 1, "no store at none"),
        ("leaderboard --store none --format json", 1, "no store at none"),
        ("run none --json", 2, "none"),
        ("run --stratgies none --json", 2, "No such option: --stratgies (did you mean --strategies?)"),
        ("leaderboard --format nope --json", 2, "'nope' is not one of"),
    ],
)
def test_under_json_an_error_is_the_document(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*typed.split())
    assert result.exit_code == code, result.output
    error = json.loads(result.stdout)["error"]
    assert error["exit_code"] == code
    assert meant in error["message"]
    assert " ".join(error["message"].split()) in " ".join(result.stderr.split()), "the sentence stands on stderr too"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run --strategies none,mask_s", "none,mask_seed none,mask_sweagent"),
        ("run --strategies @rece", "@recency-ladder"),
        ("run --strategies head_tail(tail=1,h", ""),
        ("run --history ch", "chain"),
        ("run --points rec", "recorded"),
        ("backfill --judge ant", "anthropic:"),
        ("compare --store STORE k", "keep"),
        ("compare --store STORE keep c", "cut"),
        ("compare --store nowhere k", ""),
        ("leaderboard --store STORE --judge emb", "embedded"),
        ("leaderboard --by task", "task_type"),
        ("leaderboard --format mark", "markdown"),
        ("query weak", "weakest_dimension"),
        ("export --store STORE leaderboard_by_task", "leaderboard_by_task_type"),
        ("export --query sure", "sure_differences"),
        ("run --rubric soft", "software_engineering"),
        ("list form", "formats"),
    ],
)
def test_the_shell_completes_what_can_be_meant(store: Path, typed: str, offered: str) -> None:
    words = f"compaction-eval {typed}".replace("STORE", str(store))
    asked = {
        "_COMPACTION_EVAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = CliRunner().invoke(app, [], prog_name="compaction-eval", env=asked)
    assert result.stdout.split() == offered.split()


def test_completion_can_be_installed(command: Command) -> None:
    assert "--install-completion" in command("--help").output


def entry(cost: float | None, *, cached: bool = False) -> JournalEntry:
    return JournalEntry("id", "run", "score", "item", "openai:m", "key", 1, 1, cost, cached, 0.1, "done", "2026-01-01")


def test_progress_says_what_the_cache_answered_and_what_was_spent(capsys: pytest.CaptureFixture[str]) -> None:
    meter = CallMeter()
    meter.note(entry(2.0))
    before = meter.read()
    assert meter.read().since(before) == ""
    lines = Lines()
    with lines.stage("score", 4, "verdicts", lambda share: meter.read().since(before, share)) as shown:
        meter.note(entry(0.5))
        meter.note(entry(9.0, cached=True))
        shown.advance(4)
    start, end = capsys.readouterr().err.splitlines()
    assert start == "score: 4 verdicts"
    assert end.startswith("score: done, 4 verdicts in ")
    assert end.endswith(" s, 50 % of 2 calls cached ($9.00 saved), $2.50 spent")


def test_a_bar_on_a_terminal_says_the_same() -> None:
    bars = Bars()
    bars._console = Console(file=(out := io.StringIO()), force_terminal=True, width=160)
    with bars.stage("score", 4, "verdicts", lambda share: f"50 % of 2 calls cached, ${2.5 * share:.2f} spent") as shown:
        shown.advance(4)
    assert "50 % of 2 calls cached, $2.50 spent" in out.getvalue()
    assert "4/4" in out.getvalue()


def test_the_time_left_is_said_from_a_tenth_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.support.progress.LINE_EVERY", -1.0)
    with Lines().stage("load", 20, "steps") as shown:
        shown.advance(1)
        shown.advance(2)
    _, first, second, _ = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"load: 1 of 20 steps, [\d,.e+]+ a second", first)
    assert re.fullmatch(r"load: 3 of 20 steps, [\d,.e+]+ a second, about \d+ s left", second)


def test_the_cost_of_a_stage_is_foreseen_and_what_the_provider_kept_is_said() -> None:
    before, now = MeterReading(paid=1, usd=1.0), MeterReading(3, 0, 3.0, sent_tokens=1000, served_tokens=620)
    kept = "0 % of 2 calls cached, $3.00 spent, 62 % of the tokens sent from the provider's cache"
    assert now.since(before) == kept
    assert now.since(before, 0.25) == f"{kept}, about $9.00 when this stage is done"
    assert now.since(before, 0.05) == kept


def test_a_price_that_is_not_known_is_not_said_to_be_nothing() -> None:
    assert MeterReading(paid=2, unpriced=2).since(MeterReading()) == "0 % of 2 calls cached, an unknown amount spent"
    assert (
        MeterReading(paid=2, unpriced=1, usd=1.0)
        .since(MeterReading())
        .endswith("$1.00 and what has no known price spent")
    )


def _path(arguments: list[str]) -> tuple[str, ...]:
    return next(path for path in COMMANDS if tuple(arguments[: len(path)]) == path)
