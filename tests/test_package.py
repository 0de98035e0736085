"""What is shipped: the files of the archives, the packages that the code needs, and the types that others see."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
import yaml

from flows.support.versions import VERSION
from tests import __main__ as checks

ROOT = Path(__file__).parents[1]
PACKAGES = ("compaction_eval", "compaction", "flows", "judge", "sql")
COMMAND = "compaction_eval_command"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDER = f"compaction_eval-{VERSION}"
NOT_SHIPPED = {".ci/run", ".github/workflows/ci.yml", ".pre-commit-config.yaml"}
"""Of what git knows: what only a checkout needs."""


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The files that git knows."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a checkout of git")
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def archives(known: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both archives, built in a checkout that is full of other files."""
    checkout, built = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("built")
    for name in known:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    for name in (
        ".cache/secret.json",
        ".env",
        "notes.md",
        "compaction-eval-store/scores.duckdb",
        "logs/session.jsonl",
        "flows/__pycache__/a.pyc",
        "build/lib/a.py",
        ".mypy_cache/a.json",
        "results/leaderboard.csv",
    ):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("not to be shipped")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(built)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    return built


def test_the_wheel_is_the_packages_as_git_knows_them_and_the_licences(archives: Path, known: set[str]) -> None:
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    about = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE"}
    code = {name for name in known if name.partition("/")[0] in {*PACKAGES, f"{COMMAND}.py"}}
    assert names == code | {f"{FOLDER}.dist-info/{name}" for name in about}
    assert {f"{package}/py.typed" for package in ("compaction_eval", "compaction", "flows", "judge")} <= names


def test_the_source_archive_is_what_git_knows(archives: Path, known: set[str]) -> None:
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        names = {member.name.removeprefix(f"{FOLDER}/") for member in archive.getmembers() if member.isfile()}
    assert names == known - NOT_SHIPPED | {"PKG-INFO"}


def test_the_citation_says_what_the_package_says() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["title"], cited["license"]) == (PROJECT["name"], PROJECT["license"])
    assert cited["abstract"] == f"{PROJECT['description']}."
    assert cited["keywords"] == PROJECT["keywords"]


@pytest.mark.usefixtures("known")
def test_the_public_checks_run_on_every_python_that_the_project_is_for() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    [job] = yaml.safe_load(text)["jobs"].values()
    versions = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one]
    assert job["strategy"]["matrix"]["python"] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert job["steps"][-1]["run"] == ".ci/run"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


@pytest.mark.usefixtures("known")
def test_what_runs_before_a_commit_is_what_the_tests_run_first() -> None:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    run = [hook["entry"].removeprefix("python -m ").replace(" --force-exclude", "") for hook in local["hooks"]]
    assert run == [step.removesuffix(" .") for step in checks.STEPS[: len(run)]]


def test_a_requirement_is_named_once() -> None:
    extras = PROJECT["optional-dependencies"]
    named = [re.split(r"[<>=\[;]", one)[0] for one in [*PROJECT["dependencies"], *chain.from_iterable(extras.values())]]
    assert {name for name in named if named.count(name) > 1} == set()
    own = re.fullmatch(r"compaction-eval\[([\w,]+)\]", extras["dev"][0])
    assert own
    assert set(own[1].split(",")) <= set(extras)


def test_fixed_texts_of_others_are_in_the_notice() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = re.findall(r"\(([A-Z_]+(?: and [A-Z_]+)*) in ([\w/]+\.py)\)", notice)
    files = ("aider", "codex", "deepagents", "kimi", "letta", "pydantic_ai", "roo")
    assert {path for _, path in named} == {f"compaction/strategies/{name}.py" for name in files}
    for constants, path in named:
        code = (ROOT / path).read_text(encoding="utf-8")
        assert all(f"\n{constant} = " in code for constant in constants.split(" and "))


def test_another_project_sees_the_types(archives: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    [packages] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        wheel.extractall(packages)
    (tmp_path / "theirs.py").write_text(
        "from compaction.tokens import TokenCounter\nfrom flows.support.ids import content_id\n"
        "from judge.answer import Answer\n"
        "reveal_type(TokenCounter.count)\nreveal_type(Answer)\nreveal_type(content_id)\n"
    )
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--python-executable",
            tmp_path / "venv/bin/python",
            "--cache-dir",
            tmp_path / "cache",
            "theirs.py",
        ],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "py.typed" not in checked.stdout
    assert checked.returncode == 0, checked.stdout
    assert len(re.findall(r'Revealed type is "def ', checked.stdout)) == 3, checked.stdout


OF_AN_EXTRA = {
    "anthropic",
    "agent_framework",
    "inspect_ai",
    "langchain",
    "langchain_core",
    "langgraph",
    "openhands",
    "pydantic",
    "dask",
    "distributed",
    "obstore",
    "pandas",
    "prefect_dask",
}
"""Imported only where it was asked for; a test beside each says what is told without it."""


def test_what_is_imported_is_a_dependency() -> None:
    required = {
        re.split(r"[<>=\[;]", requirement)[0].strip().lower().replace("-", "_").replace(".", "_")
        for requirement in PROJECT["dependencies"]
    }
    distributions = packages_distributions()
    wrong = []
    for path in [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                top = name.partition(".")[0]
                if top in {*sys.stdlib_module_names, *PACKAGES, COMMAND, *OF_AN_EXTRA, "compression", "backports"}:
                    continue
                found = {one.lower().replace("-", "_") for one in distributions.get(top, [top])}
                if not found & required:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    assert wrong == []


def test_no_page_and_no_message_installs_from_a_package_index() -> None:
    """No index has it; it is installed from its repository."""
    wrong = []
    for folder in ("README.md", "zensical.toml", "docs", "compaction", "judge", "flows"):
        for path in [ROOT / folder] if (ROOT / folder).is_file() else sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".md", ".yml", ".py", ".toml", ".sh", ".ipynb"} or "samples" in path.parts:
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                for typed in line.split("pip install")[1:]:
                    what = re.split(r"&&|`| in a checkout", typed)[0]
                    if re.search(r"(?<![\w/])compaction-eval(?:\[\w+\])?(?! @)", what):
                        wrong.append(f"{path.relative_to(ROOT)}: {line.strip()}")
    assert wrong == []
