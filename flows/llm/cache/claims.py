"""Claims in the call cache: the process that holds each, and whether it still lives."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """One opened cache of one process."""

    host: str
    """Machine and, where there is one, process-id namespace: a process id means nothing outside of these."""
    pid: int
    started: str
    """Boot of the machine and start of the process, so that a process id that was given out again is told apart."""
    instance: str

    @classmethod
    def this(cls) -> Owner:
        """A new owner in this process."""
        return cls(_host(), os.getpid(), _start_time(os.getpid()) or "", uuid.uuid4().hex)

    def is_dead(self, here: Owner) -> bool:
        """Whether the owner's process is known to be gone. Of another machine nothing is known."""
        if self.host != here.host:
            return False
        started = _start_time(self.pid)
        return started is None or (bool(self.started) and started != self.started)


def _host() -> str:
    try:
        namespace = os.readlink(
            _PROC / "self/ns/pid"
        )  # containers of one machine may share its name, not its processes
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} {namespace}".strip()


def _start_time(pid: int) -> str | None:
    """The start time of a living process; empty if the system does not tell; None without such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass  # it lives, and belongs to somebody else
    try:
        # The name stands in parentheses and may hold any character; state and start time are fields 3 and 22.
        after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None if (_PROC / "self/stat").exists() and not (_PROC / str(pid)).exists() else ""
    return None if after_name[0] in "ZX" else f"{boot} {after_name[19]}"
