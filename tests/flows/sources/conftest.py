"""What the tests of the readers share; the logs themselves are in ``logs``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.sources import Input, ReadResult, read_input
from flows.store.store import Store
from tests.flows.sources import logs
from tests.flows.sources.folders import chat
from tests.flows.sources.logs import claude_code, codex_rollout


def as_input(path: Path) -> Input:
    stat = path.stat()
    return Input(path, "folder" if path.is_dir() else "file", stat.st_size, stat.st_mtime_ns)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes bytes, a JSON document, or a list of records as JSON lines."""

    def run(name: str, content: Any = None, *, lines: list[Any] | None = None) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if lines is not None:
            content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return run


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., ReadResult]:
    """Writes like ``write`` and reads what was written; a path is read as it is."""

    def run(name: str | Path, content: Any = None, *, lines: list[Any] | None = None) -> ReadResult:
        path = name if isinstance(name, Path) else write(name, content, lines=lines)
        return read_input(as_input(path))

    return run


@pytest.fixture
def claude() -> Any:
    """The makers of Claude Code lines."""

    class Provenance:
        line = staticmethod(claude_code.claude_line)
        says = staticmethod(claude_code.claude_says)
        user = staticmethod(claude_code.claude_user)
        use = staticmethod(claude_code.claude_use)
        result = staticmethod(claude_code.claude_result)
        progress = staticmethod(claude_code.claude_progress)

    return Provenance


@pytest.fixture
def codex_line() -> Callable[..., dict[str, Any]]:
    return codex_rollout.codex


@pytest.fixture(scope="session")
def line_samples() -> dict[str, list[dict[str, Any]]]:
    """A log in JSON lines for each format that has one; line *n* holds the word ``token-n``."""
    return logs.logs_with("LINES")


@pytest.fixture(scope="session")
def document_samples() -> dict[str, Any]:
    """A log in one JSON value for each format that has one."""
    return logs.logs_with("DOCUMENT")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good session."""
    path = tmp_path / "logs"
    path.mkdir()
    (path / "good.json").write_bytes(chat("mill"))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")
