"""One line of a log."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Dict, Optional


@dataclass
class Record:
    """A parsed line; `fields` holds the key=value pairs."""

    time: dt.datetime
    level: str
    service: str
    fields: Dict[str, str] = field(default_factory=dict)
    raw: str = ""

    def get(self, name: str) -> Optional[str]:
        if name == "time":
            return self.time.isoformat()
        if name == "level":
            return self.level
        if name == "service":
            return self.service
        return self.fields.get(name)
