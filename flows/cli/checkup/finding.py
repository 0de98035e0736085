"""The result of a check of ``doctor``."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
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
    def text(self) -> str:
        """The line printed behind the state."""
        return f"{self.check}: {self.says}" + (f"; {self.do}" if self.do else "")


def users_with_access(path: Path) -> str:
    """The other users of this machine who can open a folder, with its mode; empty if none can."""
    mode = stat.S_IMODE(path.stat().st_mode)
    who = [name for name, bits in (("its group", stat.S_IRWXG), ("all users", stat.S_IRWXO)) if mode & bits]
    return f"{' and '.join(who)} (mode {mode:04o})" if who else ""
