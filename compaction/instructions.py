"""The user's own words to a summariser: another prompt than the method's, and what its summaries are to dwell on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

PARAMETERS = ("prompt_file", "focus")
"""What every strategy that needs a summariser takes beside its own parameters."""

FOCUS = "Additional instructions from the user:"
"""Stands above the focus, behind the instructions."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What stands in the place of a method's prompt, and what stands behind it; both are empty by default."""

    prompt_file: str = ""
    prompt: str = ""
    """The text of that file."""
    focus: str = ""

    @property
    def params(self) -> Mapping[str, str]:
        """The parameters that were given."""
        given = zip(PARAMETERS, (self.prompt_file, self.focus), strict=True)
        return {name: value for name, value in given if value}

    @property
    def version(self) -> str:
        """What a method's version says of the file, so that another text is another method: ``+prompt@1f3a…``."""
        return f"+prompt@{hashlib.sha256(self.prompt.encode()).hexdigest()[:12]}" if self.prompt_file else ""

    def add_focus(self, prompt: str) -> str:
        """A prompt with the focus behind it."""
        return f"{prompt}\n\n{FOCUS}\n{self.focus}" if self.focus else prompt


NONE = Instructions()
"""The method's own instructions, as they are."""
