"""A small store for every test of the load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.small_store import SmallStore


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path).fill()
