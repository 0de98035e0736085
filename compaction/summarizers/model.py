"""A language model as the summariser of strategies."""

from __future__ import annotations

from compaction.code_version import identity_version
from compaction.model import (
    BlankSummaryError,
    CallsStoppedError,
    Completion,
    ContextOverflowError,
    Model,
    ModelError,
    ModelRequest,
    SummaryError,
    SummaryRequest,
)

VERSION = 1
"""Raise it when a model is asked otherwise, or its answer taken otherwise."""

HEADROOM = 2
"""The model may write so many times the tokens that its prompt allows: a summary that is cut off is no summary."""

_PASSING = ("unavailable", "unusable", "rejected")


class ModelSummarizer:
    """Sends a strategy's prompt to a model. One serves one compaction: it remembers what went wrong."""

    def __init__(self, model: Model, replicate: int = 0) -> None:
        self.name = f"{model.name}@{identity_version({**model.identity, 'version': VERSION})}"
        self._model = model
        self._replicate = replicate
        self.failure: Exception | None = None
        """The first failure that lies with the provider and not with the model's answer, or the stop.

        An original may go on without a summary, or put its client's error in the summary's place. That is no outcome
        of its method, so whoever runs it looks here.
        """

    def summarize(self, request: SummaryRequest) -> Completion:
        """The model's summary. Raises SummaryError, or CallsStoppedError."""
        asked = ModelRequest(request.prompt, HEADROOM * request.max_tokens, replicate=self._replicate)
        try:
            return self._model.complete(asked)
        except CallsStoppedError as stop:
            self.failure = self.failure or stop
            raise
        except ModelError as error:
            if error.kind in _PASSING:
                self.failure = self.failure or error
            kinds = {"overflow": ContextOverflowError, "blank": BlankSummaryError}
            raise kinds.get(error.kind, SummaryError)(str(error)) from error
