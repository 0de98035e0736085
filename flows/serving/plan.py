"""The deployment of ``serve``: the schedule of the nights of one store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flows.store.store import Store


@dataclass(frozen=True)
class ServePlan:
    """The nightly schedule of one store."""

    name: str
    cron: str
    timezone: str
    parameters: dict[str, Any]
    """Parameters of the flow ``nightly``."""
    store: Store
    now: bool
    """Whether the first night begins at once."""
