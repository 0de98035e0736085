"""Methods of a module that a team ships."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from compaction import (
    Method,
    parse_method,
)
from tests.compaction.adapters.somebodys import OURS


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Method]:
    """A module of somebody's own, and a method of what is in it."""
    (tmp_path / "our_compaction.py").write_text(OURS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "our_compaction", raising=False)

    def named(rest: str) -> Method:
        return parse_method(f"peer:our_compaction:{rest}")

    return named
