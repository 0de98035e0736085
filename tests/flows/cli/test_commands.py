"""What the command says and how it ends, for good and bad input. Whole runs stand in ``test_run.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flows.store.store import STORE_FORMAT, Store
from tests.flows.conftest import ROOT, Command, session_lines, start, write_session


def test_help_names_every_command_and_each_teaches_by_example(command: Command) -> None:
    overview = command("--help")
    assert overview.exit_code == 0
    for name in ("run", "plan", "ingest", "backfill", "cache", "leaderboard", "sql", "list", "doctor"):
        assert f" {name} " in overview.output
        shown = command(name, "--help")
        assert shown.exit_code == 0
        assert f"compaction-eval {name}" in shown.output


def test_the_command_starts_without_importing_prefect() -> None:
    code = "import sys, flows.__main__; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_version(command: Command) -> None:
    assert command("--version").output.startswith("compaction-eval 0.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.jsonl"], "error: no such file or folder: nowhere.jsonl"),
        (["ingest", "nowhere/*.jsonl"], "error: no file matches nowhere/*.jsonl"),
        (["run", "--strategies", "no_such_one"], "error: --strategies: unknown strategy 'no_such_one'; known: "),
        (
            ["run", "--strategies", "head_tail(tial=3)"],
            "error: --strategies: strategy 'head_tail' has no parameter 'tial'",
        ),
        (["run", "--points", "tokens:1"], "error: --points: points 'tokens:1': the step must be at least 500 tokens"),
        (["run", "--points", "often"], "error: --points: points 'often': expected tokens:N, messages:N, share:S"),
        (["run", "--strategies", "none,openai_compact"], "error: method openai_compact has openai compact and takes"),
        (
            ["run", "--judge", "openai:gpt-5"],
            "error: openai:gpt-5: OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL",
        ),
        (
            ["run", "--model", "llama"],
            "error: --model: expected embedded, openai:MODEL, anthropic:MODEL, found 'llama'",
        ),
        (["run", "--history", "loop"], "error: --history: expected prefix or chain, found 'loop'"),
        (["run", "--tokenizer", "words"], "error: --tokenizer: expected o200k_base or cl100k_base"),
        (["run", "--study", "none.toml"], "error: study none.toml: no such file"),
        (["run", "--store", "ftp://host/store"], "error: store ftp://host/store: expected a folder, or a URL"),
        (["run", "--replicates", "0"], "error: --replicates: expected a whole number of at least 1, found 0"),
        (["run", "--replicates", "many"], "--replicates"),
        (["list", "planets"], "planets"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_bad_usage(command: Command, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    result = command("run", tmp_path / "logs", "--store", tmp_path / "store")
    assert result.exit_code == 2
    assert f"nothing to read in {tmp_path / 'logs'}" in result.stderr
    assert not (tmp_path / "store").exists()


def test_a_bad_study_names_its_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('history = "prefix"\npiont = "messages:20"\n')
    result = command("run", "--study", tmp_path / "study.toml", "--store", tmp_path / "store")
    assert result.exit_code == 2
    assert f"study {tmp_path / 'study.toml'}, line 2: piont: unknown key" in result.stderr


@pytest.mark.parametrize("name", ["run", "ingest"])
def test_a_newer_store_is_refused(command: Command, tmp_path: Path, logs: Path, name: str) -> None:
    Store.create(str(tmp_path / "store"), "o200k_base")
    (tmp_path / "store" / "store.json").write_text(json.dumps({"format": STORE_FORMAT + 1, "tokenizer": "o200k_base"}))
    result = command(name, logs, "--store", tmp_path / "store")
    assert result.exit_code == 1
    assert "made by a newer version of compaction-eval" in result.stderr


@pytest.mark.parametrize("arguments", [["leaderboard"], ["sql", "SELECT 1"]])
def test_looking_at_no_store_says_how_to_make_one(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    result = command(*arguments, "--store", tmp_path / "none")
    assert result.exit_code == 1
    assert "`compaction-eval run` makes one" in result.stderr


def test_a_store_that_is_in_use_is_said(command: Command, tmp_path: Path, logs: Path) -> None:
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    with store.locked("run"):
        process = start("run", logs, "--store", store.root)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"store {store.root} is in use by `compaction-eval run`" in said


def test_a_configured_prefect_server_that_is_down_is_said(tmp_path: Path, logs: Path) -> None:
    process = start(
        "run", logs, "--store", tmp_path / "store", environment={"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    )
    _, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Prefect is configured to use http://127.0.0.1:9/api, which does not answer" in said
    assert "--ephemeral" in said
    assert "Traceback" not in said


def said_of(result_output: str, path: Path) -> str:
    """The lines of ``ingest`` on one file."""
    lines = result_output.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{path}:"))
    after = next((i for i, line in enumerate(lines[first + 1 :], first + 1) if not line.startswith("    ")), len(lines))
    return "\n".join(lines[first:after])


@pytest.mark.slow
def test_ingest_says_per_file_what_went_in_and_what_was_set_aside(
    working_command: Command, tmp_path: Path, logs: Path
) -> None:
    whole = session_lines("session-9", 4, "garden")
    text = [json.dumps(line) for line in whole]
    broken, cut, latin, unknown, single, quiet = (
        logs / name
        for name in ("broken.jsonl", "cut.jsonl", "latin.jsonl", "notes.jsonl", "single.jsonl", "quiet.jsonl")
    )
    broken.write_text("\n".join([*text[:3], '{"type": "user", oops', *text[3:]]) + "\n")
    cut.write_text("\n".join(text).replace("session-9", "session-8")[:-40])
    latin.write_bytes(b"\n".join(line.replace("session-9", "session-7").encode() for line in text) + b"\n\xff\xfe{\n")
    unknown.write_text('{"shopping": ["milk"]}\n')
    write_session(single, "session-6", 0, "meadow")
    said = [{**line, "message": {**line["message"], "content": "Just talk."}} for line in session_lines("session-5", 3)]
    quiet.write_text("".join(json.dumps(line) + "\n" for line in said))

    result = working_command("ingest", logs, "--store", tmp_path / "store", "--concurrency", 2)
    assert result.exit_code == 3, result.output
    assert "1 session, 9 messages" in said_of(result.stdout, broken)
    assert "set aside: line 4: " in said_of(result.stdout, broken)
    assert "1 session" in said_of(result.stdout, cut)
    assert "set aside: line 9: " in said_of(result.stdout, cut)
    assert "1 session, 9 messages" in said_of(result.stdout, latin)
    assert "set aside: line 10: " in said_of(result.stdout, latin)
    assert "no known format, 0 sessions" in said_of(result.stdout, unknown)
    assert "set aside: no known format" in said_of(result.stdout, unknown)
    assert said_of(result.stdout, single).endswith("claude_code, 1 session, 1 message")
    assert "1 session" in said_of(result.stdout, quiet)
    assert "set aside" not in said_of(result.stdout, quiet)
    for name, turns in (("orchard", 30), ("harbour", 25), ("lantern", 20)):
        assert f"1 session, {1 + 2 * turns} messages" in said_of(result.stdout, logs / f"{name}.jsonl")

    before = {
        path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file() and path.name != ".lock"
    }
    again = working_command("ingest", logs, "--store", tmp_path / "store")
    assert "nothing to do: every file is in the store as it is now" in again.stderr
    assert again.stdout == result.stdout
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.slow
def test_what_was_set_aside_goes_when_the_file_has_been_mended(working_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps(line) for line in session_lines("s", 3)]
    path.write_text("\n".join([lines[0], "oops", *lines[1:]]) + "\n")
    assert working_command("ingest", path, "--store", tmp_path / "store", "--concurrency", 1).exit_code == 3
    path.write_text("\n".join(lines) + "\n")
    result = working_command("ingest", path, "--store", tmp_path / "store", "--concurrency", 1)
    assert result.exit_code == 0, result.output
    assert list((tmp_path / "store" / "quarantine").glob("*")) == []


@pytest.mark.slow
def test_sessions_too_short_for_any_point_are_said_with_what_to_try(working_command: Command, tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", "s", 6)
    result = working_command("run", path, "--store", tmp_path / "store", "--concurrency", 1)
    assert result.exit_code == 3, result.output
    assert (
        "1 of 1 session without a compaction point (--points tokens:32000): the longest without one has "
        in result.stderr
    )
    assert "; --points share:0.5,0.9 would give points to 1\n" in result.stderr
    result = working_command(
        "run", path, "--store", tmp_path / "store", "--concurrency", 1, "--points", "share:0.5,0.9"
    )
    assert result.exit_code == 0, result.output
    assert "compact: done" in result.stderr
    long = write_session(tmp_path / "c.jsonl", "u", 60, word="harbour")
    result = working_command(
        "run", path, long, "--store", tmp_path / "both", "--concurrency", 1, "--points", "messages:50"
    )
    assert "1 of 2 sessions without a compaction point (--points messages:50): the longest without" in result.stderr
    single = write_session(tmp_path / "b.jsonl", "t", 0)
    result = working_command("run", single, "--store", tmp_path / "other", "--concurrency", 1)
    assert result.exit_code == 3, result.output
    assert (
        "1 of 1 session without a compaction point (--points tokens:32000): the longest without one has "
        in result.stderr
    )
    assert "would give" not in result.stderr


@pytest.mark.parametrize("verb", ["run", "ingest", "plan"])
def test_what_no_format_knows_is_said_before_a_server_starts_and_makes_no_store(
    command: Command, tmp_path: Path, verb: str
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("buy milk\n")
    result = command(verb, notes, "--store", tmp_path / "store")
    assert result.exit_code == 2, result.output
    assert f"error: {notes}: no known format; compaction-eval list formats" in result.stderr
    assert "server" not in result.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_a_run_over_nothing_readable_beside_good_sessions_says_so_and_keeps_them(
    working_command: Command, tmp_path: Path
) -> None:
    good = write_session(tmp_path / "a.jsonl", "s", 6)
    assert working_command("ingest", good, "--store", tmp_path / "store", "--concurrency", 1).exit_code == 0
    (tmp_path / "notes.txt").write_text("buy milk\n")
    result = working_command("run", tmp_path / "notes.txt", "--store", tmp_path / "store", "--concurrency", 1)
    assert result.exit_code == 3, result.output
    assert "no known format" in result.stderr
    assert "1 session," in result.stderr


@pytest.mark.parametrize("kind", ["strategies", "formats", "judges", "rubrics"])
def test_list_names_what_exists_as_text_and_as_json(command: Command, kind: str) -> None:
    items = json.loads(command("list", kind, "--json").stdout)
    text = command("list", kind)
    assert text.exit_code == 0
    assert items
    assert all(item["name"] in text.stdout for item in items)


def test_list_strategies_shows_parameters_and_what_each_needs(command: Command) -> None:
    items = {item["name"]: item for item in json.loads(command("list", "strategies", "--json").stdout)}
    assert {"none", "empty"} <= set(items)
    originals = {name: items.pop(name) for name in list(items) if name.startswith("peer:")}
    assert {item["needs"] for item in items.values()} == {"nothing", "a summariser", "a key"}
    assert len(originals) == 5
    assert "agent-framework-core (tested with 1.23.0" in next(iter(originals.values()))["needs"]
    assert items["openai_compact"]["needs"] == "a key"
    assert any(item["parameters"] for item in items.values())


def test_doctor_finds_a_sound_installation_sound(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))  # the user's own may be open to others
    result = command("doctor", "--store", tmp_path / "store", "--json")
    findings = {finding["check"]: finding for finding in json.loads(result.stdout)}
    assert set(findings) == {"versions", "tokenizers", "store", "disk", "prefect", "openai models", "anthropic models"}
    assert findings["tokenizers"]["state"] == "ok"
    assert findings["store"]["says"].startswith("none yet")


def test_doctor_ends_with_1_when_something_is_broken(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    store = Store.create(str(tmp_path / "store"), "o200k_base")
    (store.root / "store.json").write_text("{}")
    result = command("doctor", "--store", store.root)
    said = " ".join(result.stdout.split())  # long findings are wrapped to the terminal
    assert result.exit_code == 1
    assert "broken store:" in said
    assert "broken prefect: configured to use http://127.0.0.1:9/api, which does not answer" in said


def test_doctor_says_whether_models_could_be_called_without_calling_one(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said() -> dict[str, dict[str, str]]:
        result = command("doctor", "--store", tmp_path / "store", "--json")
        return {finding["check"]: finding for finding in json.loads(result.stdout)}

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert "OPENAI_API_KEY is not set" in said()["openai models"]["says"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    found = said()["openai models"]
    assert found["state"] == "warning"
    assert "OPENAI_API_KEY is set; nothing answers at http://127.0.0.1:9/v1" in found["says"]
    assert "very-secret" not in json.dumps(found)
