"""A provider's model as the rest of the project sees it: behind the gateway, without network until it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from compaction.model import (
    BlankSummaryError,
    CallsStoppedError,
    Completion,
    ContextOverflowError,
    ModelError,
    ModelRequest,
    NativeRequest,
    SummaryError,
)
from flows.llm.settings import ModelSettings

_ERRORS = {"overflow": ContextOverflowError, "blank": BlankSummaryError}


class Calls(Protocol):
    """Interface for calls: the gateway, or the recorder of a dry run (``flows.llm.call_recorder``)."""

    def complete(self, settings: ModelSettings, request: ModelRequest) -> Completion:
        """Complete a request, like ``Gateway.complete``."""

    def native(
        self, settings: ModelSettings, request: NativeRequest, replicate: int = 0
    ) -> tuple[Mapping[str, Any], Completion]:
        """Call a provider's own compaction, like ``Gateway.native``."""

    def close(self) -> None:
        """Close the calls, like ``Gateway.close``."""


def display_name(settings: ModelSettings) -> str:
    """A model's spec, with its server's host where that is not the provider's own: ``openai:qwen (localhost:8080)``."""
    host = "" if settings.is_official or settings.is_by_file else f" ({urlsplit(settings.base_url).netloc})"
    return f"{settings.spec}{host}"


class RemoteModel:
    """``compaction.model.Model``: every call goes through the gateway of the run that is under way."""

    def __init__(self, settings: ModelSettings, gateway: Callable[[], Calls]) -> None:
        self.settings = settings
        self.name = display_name(settings)
        self._gateway = gateway

    @property
    def identity(self) -> Mapping[str, Any]:
        """The settings of the model that can change its output."""
        return self.settings.identity

    def complete(self, request: ModelRequest) -> Completion:
        """Answer a request. Blocks; raises ModelError, or CallsStoppedError."""
        return self._gateway().complete(self.settings, request)


class RemoteCompactor:
    """``compaction.model.NativeCompactor``. One serves one compaction: it remembers what went wrong.

    It compacts with the model that summarises, or makes the embeddings of another.
    """

    def __init__(self, settings: ModelSettings, gateway: Callable[[], Calls], replicate: int = 0) -> None:
        self.settings = settings
        self.name = display_name(settings)
        self.failure: Exception | None = None
        """The first failure, or the stop: no outcome of a method (see ``summarizers.model.ModelSummarizer``)."""
        self._gateway = gateway
        self._replicate = replicate

    def compact(self, request: NativeRequest) -> tuple[Mapping[str, Any], Completion]:
        """The response's JSON, and what the call cost. Raises SummaryError, or CallsStoppedError."""
        if request.provider != self.settings.provider:
            raise SummaryError(f"{self.name} cannot make a compaction of {request.provider}'s")
        try:
            return self._gateway().native(self.settings, request, self._replicate)
        except CallsStoppedError as stop:
            self.failure = self.failure or stop
            raise
        except ModelError as error:
            if error.kind in ("unavailable", "unusable", "rejected"):
                self.failure = self.failure or error
            raise _ERRORS.get(error.kind, SummaryError)(str(error)) from error
