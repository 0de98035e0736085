"""The files of the container hold to the project: its Python, its files, its commands; nothing is open to others."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_both_stages_have_one_python_which_the_project_is_for() -> None:
    [version] = set(re.findall(r"^FROM python:(\d+\.\d+)-slim-\w+", DOCKERFILE, re.MULTILINE))
    assert len(re.findall("^FROM ", DOCKERFILE, re.MULTILINE)) == 2
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]


def test_the_context_is_what_the_wheel_is_built_from() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert all((ROOT / name).exists() for name in let_in)
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    about = {"pyproject.toml", "constraints.txt", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert let_in == {*wheel, *about}


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_a_service_is_locked_down(service: str) -> None:
    said = SERVICES[service]
    assert said["read_only"]
    assert said["cap_drop"] == ["ALL"]
    assert "ports" not in said  # our own servers listen on the loopback address, and check secret and Host
    assert said["command"][0] == "compaction-eval"
    assert f"USER ${next(iter(said['build']['args']))}" in DOCKERFILE


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_the_options_of_a_service_exist(service: str) -> None:
    command = SERVICES[service]["command"]
    told = subprocess.run(
        [sys.executable, "-m", "flows", command[1], "--help"], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout
    assert all(re.search(rf"{word}\b", told) for word in command if word.startswith("--"))
