"""Room for the reasoning of models: beside the tokens of an answer, by family, raised once where it is short.

A reasoning model spends the token limit before it writes: without room its answers are cut, and each is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compaction.model import CallsStoppedError
from flows.llm.clients.transport import CallFault
from flows.llm.reasoning_room import reasoning_room
from flows.llm.settings import ModelSettings

RAISED = 4
"""The room is raised to so many times what it was."""
LEAST_RAISED = 16_000
MOST_CUT = 0.03
"""Share of a stage's answers that may be cut."""
FEW = 20
"""Cut answers from which the share counts, before there are ``ENOUGH`` answers."""
ENOUGH = 100


@dataclass(slots=True)
class _Stage:
    """Answers of one stage since the room was raised."""

    cut: int = 0
    whole: int = 0
    reason: str = ""


class Rooms:
    """The room of one model in a run. For one event loop."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._stages: dict[str, _Stage] = {}
        self.room = self._first = reasoning_room(settings)

    @property
    def reason(self) -> str:
        """Why a stage asks no more; blank while all ask."""
        return "; ".join(stage.reason for stage in list(self._stages.values()) if stage.reason)

    def settings(self, stage: str) -> ModelSettings:
        """The settings to send with. Raises CallsStoppedError when too many answers of the stage were cut."""
        if (found := self._stages.get(stage)) is not None and found.reason:
            raise CallsStoppedError(found.reason)
        return self._settings if self.room == self._first else replace(self._settings, reasoning_tokens=self.room)

    def note_answer(self, stage: str) -> None:
        """Count an answer that was not cut."""
        self._stages.setdefault(stage, _Stage()).whole += 1

    def is_worth_another_try(self, stage: str, fault: CallFault, sent: ModelSettings) -> bool:
        """Whether an answer that was cut is to be asked for again with more room; if not, it is counted."""
        if not fault.reasoning and not self._first:
            return False  # it does not reason: the answer itself was too long
        if self.room == self._first:
            self.room = max(LEAST_RAISED, RAISED * self._first)
        if reasoning_room(sent) < self.room:
            return True
        found = self._stages.setdefault(stage, _Stage())
        found.cut += 1
        number = found.cut + found.whole
        if found.cut > MOST_CUT * number and (found.cut >= FEW or number >= ENOUGH):
            found.reason = (
                f"{self._settings.spec}: {found.cut:,} of {number:,} answers of the stage {stage or 'asked'} were cut "
                f"with room for {self.room:,} tokens of reasoning: set reasoning_tokens to more, or a lower "
                f'reasoning_effort, in [models."{self._settings.spec}"]'
            )
        return False
