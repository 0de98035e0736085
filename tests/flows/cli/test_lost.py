"""``compaction-eval lost``: one session, looked at without a store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compaction.transcript import Message, Transcript
from flows.pipeline.single_session import ContextOutcomes, SessionOutcomes
from flows.reporting.lost_statements import render_text
from judge.outcomes import StatementOutcome
from tests.flows.conftest import ROOT, Command, session_lines, write_session
from tests.flows.sources.logs import goose, opencode_db, opencode_export

SAMPLE = ROOT / "flows" / "samples" / "logquery.jsonl"
"""With one recorded compaction, before message 65."""
RULE = "docs/query.md belongs to Jonas"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A session without a recorded compaction."""
    return write_session(tmp_path / "plain.jsonl", "plain", 12)


def document(command: Command, *arguments: object) -> Any:
    found = command("lost", *arguments, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_the_last_recorded_compaction_is_looked_at(command: Command) -> None:
    found = document(command, SAMPLE)
    assert (found["at"], found["n_messages"], found["format"]) == (65, 148, "openhands_v1_events")
    [context] = found["contexts"]
    assert context["name"] == "recorded"
    assert context["tokens_after"] < found["tokens_before"]
    rules = [one for one in context["statements"] if one["topic"] == "constraints"]
    rule = next(one for one in rules if one["text"].startswith(RULE))
    assert rule["text"].startswith(RULE)
    assert (rule["seq"], rule["role"], rule["state"], rule["is_gone"]) == (1, "user", "readable", False)


def test_of_a_set_those_methods_are_shown_that_apply(command: Command, plain: Path) -> None:
    names = {one["name"] for one in document(command, plain, "--at", 9, "--method", "@defaults")["contexts"]}
    assert {"none", "empty", "codex_local"} <= names
    assert "recorded" not in names
    alone = command("lost", plain, "--at", 9, "--method", "@recorded")
    assert "no recorded compaction before this point; give another --method" in alone.stderr


def test_ten_statements_that_are_not_kept_are_shown_and_all_when_asked(command: Command) -> None:
    rows = document(command, SAMPLE, "--at", 140, "--method", "empty")["contexts"][0]["statements"]
    assert len(rows) > 10
    assert all(one["is_gone"] for one in rows)
    few = command("lost", SAMPLE, "--at", 140, "--method", "empty").stdout
    assert few.count("\nLOST ") == 10
    assert f"not shown: {len(rows) - 10} more that are not kept (--all)" in few
    assert {one["topic"] for one in rows} == {"constraints", "files", "open", "values"}
    assert all(f"LOST    {topic}" in few for topic in ("constraint", "file", "value"))
    everything = command("lost", SAMPLE, "--at", 140, "--method", "empty", "--all").stdout
    assert everything.count("\nLOST ") == len(rows)
    assert "not shown" not in everything


def test_methods_are_compared_at_the_same_point(command: Command) -> None:
    found = document(command, SAMPLE, "--method", "none,empty,head_tail(tail=6)")
    assert [one["name"] for one in found["contexts"]] == ["none", "empty", "head_tail(tail=6)"]
    none, empty, _ = (one["statements"] for one in found["contexts"])
    assert {one["state"] for one in none} == {"readable"}
    assert [one["text"] for one in none] == [one["text"] for one in empty]
    assert found["at"] == 65


def test_another_tools_output_is_messages_or_a_text(command: Command, plain: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("The orchard sorting is to stay stable; src/orchard_0.py was created.\n")
    told = document(command, plain, "--compacted", summary)
    assert told["at"] == told["n_messages"] == 25
    states = {one["text"]: one["state"] for one in told["contexts"][0]["statements"]}
    assert states["src/orchard_0.py"] == "readable"
    assert states["src/orchard_2.py"] == "lost"

    messages = tmp_path / "left.json"
    chat = [{"role": "user", "content": session_lines("plain", 1)[0]["message"]["content"]}]
    chat += [{"role": "assistant", "content": "src/orchard_2.py was created."}, {"role": "user", "content": "Go on."}]
    messages.write_text(json.dumps(chat))
    states = {
        one["text"]: one["state"]
        for one in document(command, plain, "--compacted", messages)["contexts"][0]["statements"]
    }
    assert states["src/orchard_2.py"] == "readable"
    assert states["src/orchard_0.py"] == "lost"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "25 messages and no recorded compaction: give --method NAME"),
        (("--at", "99", "--method", "none"), "give 1 to 25"),
        (("--at", "3"), "no recorded compaction before this point; give another --method, --at N, or --compacted FILE"),
        (("--method", "head_tial"), "did you mean head_tail"),
        (("--compacted", "missing.md"), "no such file or folder: missing.md"),
        (("--fail-if-lost", "constrants"), "did you mean constraints"),
        (("--session", "other"), "has no session 'other'; it has claude_code-plain"),
    ],
)
def test_what_cannot_be_looked_at_is_said_in_one_sentence(
    command: Command, plain: Path, arguments: tuple[str, ...], says: str
) -> None:
    found = command("lost", plain, *arguments)
    assert found.exit_code == 2
    assert says in found.stderr
    assert found.stderr.count("\n") == 1


def test_another_tools_output_is_a_text_or_messages_and_nothing_else(
    command: Command, plain: Path, tmp_path: Path
) -> None:
    image = tmp_path / "image.dat"
    image.write_bytes(bytes(range(256)))
    found = command("lost", plain, "--compacted", image)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "no session can be read" in found.stderr


def test_a_source_is_one_session(command: Command, tmp_path: Path) -> None:
    assert "give the log of a session, or --agent NAME" in command("lost").stderr
    write_session(tmp_path / "logs" / "one.jsonl", "one", 3)
    write_session(tmp_path / "logs" / "two.jsonl", "two", 3)
    assert "has 2 logs: name one of them; the newest is" in command("lost", tmp_path / "logs").stderr
    several = tmp_path / "several.json"
    run = {"reward": 1.0, "task_id": 1, "info": {}, "traj": [{"role": "user", "content": "Hello."}]}
    several.write_text(json.dumps([{**run, "task_id": number, "trial": 0} for number in range(2)]))
    found = command("lost", several, "--method", "empty").stderr
    assert "has 2 sessions: name one with --session ID; it has tau_bench-" in found
    one = found.split("it has ")[1].split(",")[0].strip()
    assert command("lost", several, "--method", "empty", "--session", one).exit_code == 0


def test_the_newest_session_of_an_agent_is_found(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude" / "projects" / "-home-ada-mill"
    for age, name in enumerate(["new", "old", "older"]):
        path = write_session(folder / f"{name}.jsonl", name, 4)
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    write_session(folder / "new" / "subagents" / "agent-1.jsonl", "helper", 4)
    (folder / "settings.json").write_text("{}")
    assert document(command, "--agent", "claude_code", "--method", "empty")["session"] == "claude_code-new"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    nowhere = command("lost", "--agent", "claude_code")
    assert f"no session of claude_code in {tmp_path}/elsewhere/projects" in nowhere.stderr
    assert "unknown agent 'clod'" in command("lost", "--agent", "clod").stderr


def test_the_newest_session_of_opencodes_database_is_looked_at(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while opencode has it open, and with its rows only in the log beside it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    assert f"no session of opencode in {folder}" in command("lost", "--agent", "opencode").stderr
    path = folder / "opencode.db"
    database = opencode_db.open_database(path, 1, 2)
    opencode_db.add_1(database, opencode_export.DOCUMENT | {"info": {"id": "ses_1", "time": {"updated": 99}}})
    opencode_db.add_2(database, opencode_db.INFO_2, opencode_db.MESSAGES_2)
    opencode_db.add_2(database, {"id": "ses_3", "parentID": "ses_2", "time": {"updated": 100}}, opencode_db.MESSAGES_2)
    for arguments, expected in (
        (("--agent", "opencode"), "ses_1"),
        ((path,), "ses_1"),
        ((path, "--session", "ses_2"), "ses_2"),
        (("--agent", "opencode", "--session", "opencode_db-ses_3"), "ses_3"),
    ):
        assert document(command, *arguments)["session"] == f"opencode_db-{expected}"
    assert "no session 'ses_9' among 3" in command("lost", path, "--session", "ses_9").stderr
    database.execute("update session_v2 set time_updated = 1000 where id = 'ses_2'")
    assert document(command, path)["session"] == "opencode_db-ses_2"
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("OPENCODE_DB", str(path))
    assert document(command, "--agent", "opencode")["session"] == "opencode_db-ses_2"
    monkeypatch.setenv("OPENCODE_DB", "opencode.db")
    assert "no session of opencode in " in command("lost", "--agent", "opencode").stderr
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local" / "share"))
    assert document(command, "--agent", "opencode")["session"] == "opencode_db-ses_2"
    database.close()


def test_the_newest_session_of_gooses_database_is_looked_at(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "goose" / "sessions").mkdir(parents=True)
    goose.DATABASE(tmp_path / "goose" / "sessions" / "sessions.db")
    assert document(command, "--agent", "goose")["session"] == "goose-20251009_1"


def test_the_exit_code_says_what_was_lost(command: Command) -> None:
    at = ("lost", SAMPLE, "--at", 140, "--method", "empty")
    for topics in ("constraints", "constraint", "open,values"):
        found = command(*at, "--fail-if-lost", topics)
        assert found.exit_code == 5, found.output
        assert "not reached: empty lost " in found.stderr
    assert "empty lost 3 constraints" in command(*at, "--fail-if-lost", "constraints").stderr
    assert command("lost", SAMPLE, "--fail-if-lost", "constraints,open").exit_code == 0  # they are kept
    assert command(*at, "--fail-if-lost", "decisions").exit_code == 0  # there is none


def test_markdown_is_a_table_for_each_context(command: Command) -> None:
    found = command("lost", SAMPLE, "--method", "empty,none", "--all", "--markdown").stdout
    assert found.count("| state | what | message | statement | needed at | nearest |") == 2
    assert "| LOST | constraint | 1 user | docs/query.md" in found
    assert "| kept | constraint | 1 user | docs/query.md" in found


def test_the_nearest_lines_are_shown_unless_they_are_code_without_end() -> None:
    def shown(nearest: str) -> str:
        one = StatementOutcome("open", "request", "Log it.", 0, "user", None, "partly", 0.3, nearest)
        session = Transcript("session", (Message("user", "Log it.", seq=0),))
        return render_text(
            SessionOutcomes("log.jsonl", session, 1, 3, (ContextOutcomes("recorded", 9, (one,)),)), 80, show_all=True
        )

    assert "nearest: Everything is to be logged" in shown("Everything is to be logged. " * 20)
    assert 'nearest: x=I(g.b("log"))' in shown('x=I(g.b("log"))')
    assert "nearest" not in shown('x=I(g.b("log")),y={a:[0,1]};' * 20)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = command("lost", SAMPLE, "--at", 140, "--method", "empty,head_tail", "--all").stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert any(len(line) > 0.8 * columns for line in lines)


def test_no_secret_and_no_control_character_is_printed(command: Command, tmp_path: Path) -> None:
    lines = session_lines("nasty", 6)
    rule = f"Never call the service\x1b]0;title\x07 without GITHUB_TOKEN={SECRET} in the header."
    lines[0]["message"]["content"] = f"Make the sorting stable. {rule}"
    session = tmp_path / "nasty.jsonl"
    session.write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = tmp_path / "summary.md"
    summary.write_text(f"Never call the service without {SECRET}\x1b[31m in the header.")
    for more in ((), ("--markdown",), ("--json",)):
        printed = command("lost", session, "--compacted", summary, "--all", *more).stdout
        assert "Never call the service" in printed
        assert SECRET not in printed
        assert not any(character < " " and character != "\n" for character in printed)


def test_it_takes_no_store_no_server_and_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, json; sys.argv[1:] = json.loads(sys.argv[1])\nfrom flows.cli.app import app\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'prefect', 'duckdb', 'pyarrow', 'polars', 'openai', 'fastapi'} & sys.modules.keys()))"
    )
    words = json.dumps(["lost", str(SAMPLE), "--method", "factory_style_anchored"])
    found = subprocess.run(
        [sys.executable, "-P", "-c", code, words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[-1] == "[]"
    assert list(tmp_path.iterdir()) == []


def test_the_python_of_the_page_says_which_rule_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "lost.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "lost.md", "exec", dont_inherit=True), {})
    assert capsys.readouterr().out == "['Never touch the files in fixtures/.']\n"
