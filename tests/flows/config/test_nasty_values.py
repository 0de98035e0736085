"""No value of a study, of a strategy's parameter or of an option gets past the door that the program cannot work with.

Each is tried with values of the wrong kind, size and form: what is not refused with a sentence must be one that the
program was made for.
"""

from __future__ import annotations

import os
import re
import socket
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import typer

from compaction import load_registry, make_method
from compaction.parameters import MOST as LARGEST_COUNT
from compaction.strategy import StrategyError
from flows.cli.app import app
from flows.cli.pages.docs_pages import commands
from flows.config.study import make_study
from flows.config.study_keys import KEYS
from flows.llm.settings import SETTINGS, make_settings
from flows.sessions.task_type_labels import read_labels
from flows.support.errors import UsageError
from flows.validation.label_sheet import LabelTargets, read_sheet
from judge.rubric import RubricError, load_rubric

NASTY: tuple[Any, ...] = (
    -1,
    -5,
    0,
    1,
    10**8,
    10**10,
    10**20,
    10**5000,
    -0.5,
    0.5,
    1.5,
    nan,
    inf,
    -inf,
    True,
    False,
    None,
    "",
    " ",
    "x",
    "a\0b",
    "a\x1bb",
    "y" * 200_000,
    "1",
    b"x",
    [],
    [-1],
    [""],
    ["a\0b"],
    {},
    {"a": 1},
)


def plainly_wrong(value: Any) -> bool:
    """What no key or parameter takes, whatever it is."""
    if isinstance(value, str):
        return bool(re.search(r"[\x00-\x08\x0b-\x1f]", value)) or len(value) > 100_000
    if isinstance(value, int | float) and not isinstance(value, bool):
        return not -inf < value < inf or value < 0 or value > 10**15
    return isinstance(value, bytes)


def refused(error: Exception) -> None:
    """It is said in words that a terminal can show."""
    assert 10 < len(str(error)) < 1600
    assert "\0" not in str(error)


@pytest.mark.parametrize("id", sorted(load_registry()))
def test_a_parameter_takes_what_is_of_its_type_and_in_its_range_and_nothing_else(id: str) -> None:
    default = load_registry()[id].params
    for name, usual in default.items():
        for value in NASTY:
            try:
                method = make_method(id, {name: value})
            except StrategyError as error:
                refused(error)
                continue
            kept = method.params[name]
            assert not plainly_wrong(value), f"{id}: {name} = {value!r:.50}"
            assert kept is None or type(kept) in (type(usual), int, float, str), f"{id}: {name} = {value!r:.50}"
            assert isinstance(kept, bool) == isinstance(usual, bool), f"{id}: {name} = {value!r:.50}"
            if isinstance(kept, float):
                assert 0 <= kept <= 1
            elif isinstance(kept, int) and not isinstance(kept, bool):
                assert 0 <= kept <= LARGEST_COUNT
            assert make_method(id, {name: usual}).params == default


@pytest.mark.parametrize(
    "spec",
    [
        "head_tail(tail=-5)",
        "af_py_truncation(metric=messages)",
        "af_py_truncation(max_n=5,compact_to=9)",
        "openhands_sdk(max_size=4,keep_first=2)",
        "langmem_running(max_tokens=100,max_summary_tokens=100)",
        "af_py_context_window(tool_eviction_threshold=0)",
        'pipeline(steps="none -> af_py_truncation(metric=messages) when tokens>99999")',
        "file_index(over='af_py_truncation(metric=messages)')",
        "head_tail(tail=" + "9" * 5000 + ")",
        "head_tail(tail=" + "[" * 5000 + "]" * 5000 + ")",
        "af_net_truncation(trigger='tokens>" + "9" * 5000 + "')",
        "af_net_truncation(trigger='tokens>1__0')",
        "head_tail" + " " * 20_000 + "!",
    ],
)
def test_parameters_that_do_not_go_together_are_refused_before_anything_starts(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_study({"strategies": spec})
    assert str(caught.value)


@pytest.mark.parametrize("key", [*KEYS, "model", "methods", "models"])
def test_a_key_of_a_study_takes_what_it_is_made_for_and_nothing_else(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in NASTY:
        try:
            study = make_study({key: value})
        except UsageError as problem:
            refused(problem)
            continue
        if value is None or value == ():
            continue  # a flag that was not given
        assert not plainly_wrong(value) or (key, value) == ("sources", "a\x1bb"), f"{key} = {value!r:.50}"
        kept = getattr(study, key, None)
        if key in KEYS and KEYS[key].type is int:
            assert type(kept) is int
            assert (KEYS[key].least or 0) <= kept <= 10**15
        elif key == "budget_usd":
            assert type(kept) is float
            assert 0 < kept <= 10**9
        elif key in ("sources", "strategies"):
            assert isinstance(kept, tuple)
            assert all(item.strip() and "\0" not in item for item in kept)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", [*SETTINGS])
def test_a_setting_of_a_model_takes_what_it_is_made_for_and_nothing_else(name: str) -> None:
    for value in (*NASTY, "http://[", "http://a:b", "http://a:99999"):
        try:
            settings = make_settings("openai:x", {name: value}, "models")
        except UsageError as problem:
            refused(problem)
            continue
        kept = getattr(settings, name)
        assert not plainly_wrong(value), f"{name} = {value!r:.50}"
        most = SETTINGS[name].most
        assert most is None or kept is None or 0 <= kept <= most


def numeric_options() -> list[tuple[Any, tuple[str, ...], str]]:
    found = []
    main: Any = typer.main.get_command(app)
    for path in commands(main):
        one = main
        for word in path:
            one = one.commands[word]
        typed = [p for p in one.params if hasattr(p, "bare_type")]
        found += [(one, path, p.opts[0]) for p in typed if p.bare_type() in ("int", "float")]
    return found


def test_an_option_that_is_a_number_is_finite_and_in_a_range() -> None:
    """By the command line itself, unless it is a key of a study, which the study looks at."""
    options = numeric_options()
    assert len(options) > 40
    wrong = []
    for one, path, option in options:
        key = option.removeprefix("--").replace("-", "_")
        if key in KEYS:
            continue
        for value in ("-1", "nan", "inf", "1" + "0" * 20, "1e999", "", "x", "9" * 5000):
            try:
                one.make_context("compaction-eval", [option, value])
                wrong.append((path, option, value, "taken"))
            except typer.BadParameter as error:
                if type(error) is not typer.BadParameter:  # an argument is missing: the value was taken
                    wrong.append((path, option, value, str(error)))
    assert wrong == []


@pytest.fixture(params=["device", "pipe", "folder", "socket", "giant", "no such name"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "given.toml"
    match request.param:
        case "device":
            return "/dev/zero"
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            os.chdir(tmp_path)
            socket.socket(socket.AF_UNIX).bind(path.name)
        case "giant":
            with path.open("wb") as file:
                file.truncate(10**12)
        case _:
            return f"{path}\0"
    return str(path)


def test_what_is_no_file_or_too_large_is_refused_at_once(
    no_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        make_study({}, no_file)
    with pytest.raises(UsageError):
        read_sheet(Path(no_file), LabelTargets({}, {}, {}))
    for path in (no_file, no_file.replace(".toml", ".csv")):
        with pytest.raises(UsageError):
            read_labels(path)
        with pytest.raises(UsageError):
            make_study({"task_types": path})
    with pytest.raises(RubricError):
        load_rubric(no_file)
    with pytest.raises(UsageError):
        make_study({"rubric": no_file})


@pytest.mark.parametrize(
    "text", ["limit = " + "9" * 5000, "x = " + "[" * 100_000, "limit = 1\0", "budget_usd = nan", "budget_usd = inf"]
)
def test_a_study_file_that_python_itself_stumbles_over_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"study\.toml"):
        make_study({}, str(path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dimension = ", "weight = nan\ndimension = "),
        ("dimension = ", "weight = inf\ndimension = "),
        ("dimension = ", "weight = -1\ndimension = "),
        ("dimension = ", 'weight = "x"\ndimension = '),
        ("question = ", "question = 1\n#"),
        ("dimension = ", "dimension = []\n#"),
    ],
)
def test_a_rubric_with_values_of_the_wrong_kind_is_refused(old: str, new: str, tmp_path: Path) -> None:
    from importlib.resources import files

    shipped = files("judge").joinpath("rubrics", "software_engineering.toml").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(re.sub(rf"^{old}", new, shipped, count=1, flags=re.MULTILINE))
    with pytest.raises(RubricError, match=r"own\.toml"):
        load_rubric(str(path))
