"""``init`` writes a study file that says everything, and what is wrong in one is said with line, key and choices."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from compaction.tokens import DEFAULT_ENCODING
from flows.config.runner_spec import LOCAL
from flows.config.study import Study, make_study
from flows.config.study_keys import KEYS
from flows.config.study_template import NAMED, make_template
from flows.llm.settings import SETTINGS, ModelSettings
from flows.support.errors import UsageError
from flows.support.toml_lines import lines_of
from judge.rubric import DEFAULT_RUBRIC
from tests.flows.conftest import Command, write_session


def all_set(text: str) -> str:
    """The file with every key set."""
    return re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)


def test_as_it_is_written_it_changes_nothing(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "new" / "study.toml"
    result = command("init", path)
    assert result.exit_code == 0
    assert f"compaction-eval plan --study {path}" in result.stdout
    assert make_study({}, str(path)) == Study()


def test_every_key_is_there_with_its_default_and_every_line_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task_types.csv").write_text("session_id,task_type\nsession-1,debugging\n")
    text = all_set(make_template())
    (tmp_path / "study.toml").write_text(text)
    study = make_study({}, "study.toml")
    values = tomllib.loads(text)
    assert set(values) == {field.name for field in fields(Study)} - {"named_methods"} | {"methods", "model"}
    assert set(values["models"][NAMED]) == {field.name for field in fields(ModelSettings)} - {"spec"}
    for field in fields(Study):
        if isinstance(field.default, str | int | bool):
            assert getattr(study, field.name) == field.default
    assert len(study.named_methods) == 2


def test_every_key_of_a_study_and_of_a_model_says_what_it_is() -> None:
    assert set(KEYS) == {field.name for field in fields(Study)} - {"named_methods", "models"}
    assert set(SETTINGS) == {field.name for field in fields(ModelSettings)} - {"spec"}
    assert all(key.about.endswith(".") for key in (*KEYS.values(), *SETTINGS.values()))
    assert not re.search(r"\bNone\b", make_template())


def test_defaults_that_stand_elsewhere_too_are_the_same() -> None:
    study = Study()
    assert (study.rubric, study.tokenizer, study.runner) == (DEFAULT_RUBRIC, DEFAULT_ENCODING, LOCAL)


def test_a_file_that_is_there_stays_unless_force_is_said(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("replicates = 2\n")
    result = command("init", path)
    assert (result.exit_code, path.read_text()) == (2, "replicates = 2\n")
    assert "--force replaces it" in result.stderr
    forced = command("init", path, "--force", "--json")
    assert json.loads(forced.stdout) == {"study": str(path)}
    assert path.read_text() == make_template()
    assert command("init", tmp_path).exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('histroy = "chain"\n', "line 1: histroy: unknown key (did you mean history?); known: anchor_days"),
        (
            'judge = "openai:x"\n\n[models."openai:x"]\ntemperature = 0\ntimeout = 0\n',
            "line 5: timeout: expected a number above 0, found 0",
        ),
        ('[models."openai:x"]\napi = "completions"\n', "line 2: api: expected chat or responses, found 'completions'"),
        (
            '[models]\n"openai:x" = { sede = 1 }\n',
            "line 2: sede: unknown setting of openai:x (did you mean seed?); known: base_url",
        ),
        (
            '[[methods]]\nname = "a"\nstrategy = "head_tail"\n\n# more\n[[methods]]\nname = "b"\nsteps = ["no_such"]\n',
            "line 6: methods: unknown strategy 'no_such'",
        ),
        (
            '[[methods]]\nname = "a"\nstrategy = "none"\n[[methods]]\nname = "a"\nstrategy = "empty"\n',
            "line 4: methods: two methods are called 'a'",
        ),
        (
            '# points = "x"\nsources = [\n  "points",  # a name\n]\ntitle = """\npoints = 3\n"""\n',
            "line 5: title: unknown key",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_own_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        make_study({}, str(path))
    assert str(caught.value).startswith(f"study {path}, {said}")


def test_the_line_of_a_key_is_the_one_that_its_statement_begins_on() -> None:
    text = 'a = """\nb = 1\n"""\nb = [\n  1,\n]\n[c."d.e"]\nf.g = 2\n\n[[h]]\n[[h]]\ni = 1\n'
    places = {
        ("a",): 1,
        ("b",): 4,
        ("c",): 7,
        ("c", "d.e"): 7,
        ("c", "d.e", "f", "g"): 8,
        ("h",): 10,
        ("h", 1): 11,
        ("h", 1, "i"): 12,
        ("h", 0, "i"): None,
        ("z",): None,
    }
    found = lines_of(text)
    assert {path: found.get(path) for path in places} == places


def test_sources_stand_in_the_file_with_points_that_fit_their_lengths(command: Command, tmp_path: Path) -> None:
    short = write_session(tmp_path / "a.jsonl", "s", 6)
    path = tmp_path / "study.toml"
    assert command("init", path, short).exit_code == 0
    assert make_study({}, str(path)) == Study(sources=(str(short),), points="share:0.5,0.9")
    assert command("init", path, "--force").exit_code == 0
    assert make_study({}, str(path)) == Study()


def test_find_prints_the_agents_of_this_machine_and_the_file_names_their_folders(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.cli.init.Path.home", lambda: tmp_path / "home")
    monkeypatch.setattr("os.environ", {**os.environ, "CODEX_HOME": str(tmp_path / "codex")})
    for name in (
        "home/.claude/projects/-mill/a.jsonl",
        "home/.claude/projects/-mill/b.jsonl",
        "codex/sessions/c.jsonl",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("no log at all")
    path, given = tmp_path / "study.toml", write_session(tmp_path / "given.jsonl", "s", 200)
    result = command("init", path, given, "--find")
    sources = [str(given), str(tmp_path / "home/.claude/projects"), str(tmp_path / "codex/sessions")]
    assert result.stdout.splitlines()[:2] == [f"claude_code: 2 logs in {sources[1]}", f"codex: 1 log in {sources[2]}"]
    assert make_study({}, str(path)).sources == tuple(sources)
    found = json.loads(command("init", path, "--find", "--force", "--json").stdout)["found"]
    assert found[1] == {"agent": "codex", "source": sources[2], "n_logs": 1}


def test_find_without_an_agent_writes_no_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.cli.init.Path.home", lambda: tmp_path)
    monkeypatch.setattr("os.environ", {"PATH": os.environ["PATH"]})
    result = command("init", tmp_path / "study.toml", "--find")
    assert (result.exit_code, (tmp_path / "study.toml").exists()) == (2, False)
    assert "no known agent has sessions on this machine" in result.stderr
