"""Retry policy: after a failed try, wait and try again, or end with an error."""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass

from compaction.model import CallsStoppedError, ErrorKind, ModelError
from flows.llm.clients.transport import RETRIED, CallFault, FaultKind
from flows.llm.settings import ModelSettings
from flows.support.errors import EvalError

ERROR_KINDS: dict[FaultKind, ErrorKind] = {
    "truncated": "truncated",
    "refused": "refused",
    "overflow": "overflow",
    "rejected": "rejected",
    "unusable": "unusable",
    "blank": "blank",
}
"""What a fault is to whoever asked; any other, those that are tried again and a wrong model, is ``unavailable``."""

LONGEST_REASON = 600
"""Characters of a reason that are kept: some servers answer with a whole page."""

_SHORTEST_KEY = 4
_KEY_NAME = re.compile(r"(?:KEY|TOKEN|SECRET)\Z")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|key)-[\w*.…-]{6,}|(?<=[Bb]earer )[^\s'\",]+|(?<=api-key: )[^\s'\",]+")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of tries of a call, and the waits in between.

    Waits grow exponentially and are drawn evenly from nothing up to their length ("full jitter", AWS Architecture
    Blog 2015: of the kinds that it compares the one with the least work). A wait that the provider asks for is kept
    to instead.
    """

    tries: int = 6
    blank_tries: int = 2
    """Tries of a call that is answered with nothing: most models say nothing to the same prompt again."""
    first_wait: float = 0.5
    """Seconds; the longest that the first wait can be."""
    factor: float = 2.0
    longest_wait: float = 30.0
    """Seconds. A wait that the provider asks for may be longer."""
    deadline: float = 600.0
    """Seconds from the start of the first try until which another try may begin."""

    def wait(self, number: int, asked: float | None) -> float:
        """Seconds between try ``number`` (from 1) and the next; ``asked``: what the provider asks for."""
        if asked is not None and asked > 0:
            return asked
        longest = min(self.longest_wait, self.first_wait * self.factor ** (number - 1))
        return random.uniform(0.0, longest)  # noqa: S311 (spreads load; nothing is kept secret by it)

    def is_last(self, fault: CallFault, number: int, blanks: int) -> bool:
        """Whether no further try follows a fault of try ``number``; ``blanks``: blank answers so far."""
        limit = self.blank_tries if fault.kind == "blank" and blanks >= self.blank_tries else self.tries
        return fault.kind not in RETRIED or number >= limit


def error_of(settings: ModelSettings, fault: CallFault, tries: int, more: str = "") -> ModelError:
    """The error that a call ends with: model, how many tries, and what was wrong with the last."""
    kind = ERROR_KINDS.get(fault.kind, "unavailable")
    often = "after 1 try" if tries == 1 else f"after {tries} tries"
    reason = without_secrets(str(fault))
    if kind == "unavailable":
        return ModelError(f"{settings.spec}: no answer {often}{more}: {reason}", kind)
    return ModelError(f"{settings.spec}: {reason}" + (f" ({often})" if tries > 1 else ""), kind)


def copy_of_error(error: BaseException) -> BaseException:
    """A copy of an error for one caller: threads must not raise the same exception object at the same time."""
    if isinstance(error, ModelError):
        return ModelError(str(error), error.kind)
    if isinstance(error, CallsStoppedError):
        return CallsStoppedError(str(error))
    return type(error)(*error.args) if isinstance(error, EvalError) else error


def without_secrets(text: str) -> str:
    """A reason without keys, cut to ``LONGEST_REASON`` characters."""
    text = without_keys(text)
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "…"


def without_keys(text: str) -> str:
    """The text without keys: neither those of the environment nor what looks like one."""
    for name, value in os.environ.items():
        if _KEY_NAME.search(name) and len(key := value.strip()) >= _SHORTEST_KEY:
            text = text.replace(key, "[key]")
    return _KEY_LIKE.sub("[key]", text)
