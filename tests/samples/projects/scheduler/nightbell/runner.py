"""Starting a job's command and waiting for it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Protocol

from .models import Job, Outcome

OUTPUT_LIMIT = 8_000


@dataclass(frozen=True)
class Result:
    outcome: Outcome
    exit_code: int | None
    output: str


class Runner(Protocol):
    def run(self, job: Job) -> Result: ...


def clip(text: str, limit: int = OUTPUT_LIMIT) -> str:
    """The end of the output is what people want to see; keep that."""
    if len(text) <= limit:
        return text
    dropped = len(text) - limit
    return f"[{dropped} characters left out]\n" + text[-limit:]


class SubprocessRunner:
    def __init__(self, default_timeout: float | None = 3600.0) -> None:
        self.default_timeout = default_timeout

    def run(self, job: Job) -> Result:
        timeout = job.timeout if job.timeout is not None else self.default_timeout
        try:
            done = subprocess.run(
                job.command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            partial = expired.stdout or ""
            if isinstance(partial, bytes):
                partial = partial.decode(errors="replace")
            return Result(Outcome.TIMEOUT, None, clip(partial))
        except OSError as error:
            return Result(Outcome.FAILED, 127, f"cannot start: {error}")
        outcome = Outcome.OK if done.returncode == 0 else Outcome.FAILED
        return Result(outcome, done.returncode, clip(done.stdout))


class ScriptedRunner:
    """For tests: answers from a list, and remembers what it was asked to run."""

    def __init__(self, exit_codes: list[int] | None = None) -> None:
        self.exit_codes = list(exit_codes or [])
        self.calls: list[str] = []

    def run(self, job: Job) -> Result:
        self.calls.append(job.name)
        code = self.exit_codes.pop(0) if self.exit_codes else 0
        outcome = Outcome.OK if code == 0 else Outcome.FAILED
        return Result(outcome, code, f"exit {code}")
