"""What a check gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One check."""

    check: str
    state: Literal["ok", "warning", "broken"]
    """``warning``: a night may come to harm; ``broken``: it cannot be done."""
    says: str
    do: str = ""
    """What to do about it; blank where there is nothing to do."""

    @property
    def line(self) -> str:
        """As it is printed."""
        return f"{self.state:<8} {self.check}: {self.says}" + (f"; {self.do}" if self.do else "")
