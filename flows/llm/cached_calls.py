"""The calls that cost nothing any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compaction.model import Completion, ModelRequest, NativeRequest
from flows.llm.gateway import Gateway
from flows.llm.settings import ModelSettings


@dataclass(frozen=True)
class CachedCalls:
    """The calls of a gateway as far as its cache answers them. Any other raises CallsStoppedError."""

    gateway: Gateway

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """As ``Gateway.complete``."""
        return self.gateway.complete(settings, request, only_cached=True)

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """As ``Gateway.native``."""
        return self.gateway.native(settings, request, replicate, only_cached=True)

    def close(self) -> None:
        """Nothing of its own is open."""
