"""``compaction_eval``: the names that others import, and what happens where another package is in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import compaction_eval

COMMAND = Path(sys.executable).parent / "compaction-eval"


def start(*arguments: str | Path, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if path:
        environment["PYTHONPATH"] = path
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(params=["flows", "sql", "judge", "compaction"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a package in the current folder that is called like one of ours."""
    (tmp_path / request.param).mkdir()
    (tmp_path / request.param / "__init__.py").write_text("raise RuntimeError('the other package was imported')\n")
    return str(request.param)


def test_every_public_name_is_there() -> None:
    missing = [name for name in compaction_eval.__all__ if getattr(compaction_eval, name, None) is None]
    assert missing == []
    assert set(compaction_eval.__all__) <= set(dir(compaction_eval))
    assert compaction_eval.__all__ == sorted(compaction_eval.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lots'"):
        _ = compaction_eval.lots


def test_the_import_loads_nothing_until_a_name_is_asked_for(tmp_path: Path) -> None:
    code = (
        "import sys, json, compaction_eval; before = sorted(sys.modules); compaction_eval.Message; "
        "print(json.dumps([before, sorted(sys.modules)]))"
    )
    before, after = json.loads(start(sys.executable, "-c", code, folder=tmp_path).stdout)
    own = {"compaction", "judge", "flows", "sql", "numpy", "prefect", "polars"}
    assert own.isdisjoint(before)
    assert own.intersection(after) == {"compaction"}


def test_an_import_says_which_folder_is_in_the_way(foreign: str, tmp_path: Path) -> None:
    found = start(sys.executable, "-c", "import compaction_eval", folder=tmp_path)
    assert found.returncode == 1
    [sentence] = [line for line in found.stderr.splitlines() if line.startswith("ImportError: ")]
    assert f"{tmp_path} has a package {foreign!r}" in sentence
    assert "rename it" in sentence


def test_the_installed_command_never_minds(foreign: str, tmp_path: Path) -> None:
    for path in ("", str(tmp_path)):
        found = start(COMMAND, "list", "rubrics", folder=tmp_path, path=path)
        assert found.returncode == 0, found.stderr
        assert foreign
        assert "software_engineering" in found.stdout


STARTS = """
import subprocess, sys
from compaction_eval_command import main

sys.argv = ["compaction-eval", "--version"]
try:
    main()
except SystemExit:
    pass
subprocess.run([sys.executable, "-m", "flows", "--version"], check=True)
"""


def test_what_the_command_starts_does_not_mind_either(foreign: str, tmp_path: Path) -> None:
    """A process of ``python -m``, as Prefect's server is one."""
    for path in ("", str(tmp_path)):
        found = start(sys.executable, "-P", "-c", STARTS, folder=tmp_path, path=path)
        assert found.returncode == 0, found.stderr
        assert foreign
        assert found.stdout.count("compaction-eval ") == 2
