"""``serve``: the nightly deployment, and what runs it, in one process that is meant to live for years.

Each night is a process of its own, started by Prefect's runner; what one of them does to itself ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

from flows.execution.prefect_server import Server, answers, configured_url, prepare
from flows.serving.plan import ServePlan
from flows.support.errors import EvalError, UsageError

LOOK_EVERY = 10.0
"""Seconds between two looks at what became of nights, and at the server."""
LOOK_WITHIN = 10.0
"""Most seconds of one look. Prefect's client asks a server that has ended six times, for up to 60 seconds each;
until then nobody would start another one."""
MOST_BREAKS = 10
"""How often in a row the runner of nights may break off: one that does each time has a reason."""
LASTED = 600.0
"""Seconds after which a runner that breaks off has worked."""
LONGEST_PAUSE = 60.0
"""Most seconds before another one is started; the first time it is one, then twice as long each time."""
STOP_WITHIN = 45.0
"""Seconds that the night under way is given when ``serve`` is stopped."""


def print_line(text: str) -> None:
    """One line with the time, for a terminal or a journal."""
    print(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {text}", file=sys.stderr, flush=True)  # noqa: T201


def check_schedule(cron: str, timezone: str) -> None:
    """Raise UsageError where Prefect would not take the schedule."""
    from prefect.schedules import Cron  # noqa: PLC0415 (Prefect reads its settings when it is imported)

    try:
        ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"--timezone: expected a name such as Europe/Berlin or UTC, found {timezone!r}") from None
    try:
        Cron(cron, timezone=timezone)
    except ValueError:
        raise UsageError(
            f"--cron: expected five fields (minute, hour, day, month, weekday) such as '0 2 * * *', found {cron!r}"
        ) from None


def local_timezone() -> str:
    """The machine's time zone by name, UTC where it has none."""
    if name := os.environ.get("TZ", "").lstrip(":"):
        return name
    path = os.path.realpath("/etc/localtime")
    return path.partition("zoneinfo/")[2] or "UTC"


@contextmanager
def open_server() -> Iterator[Server | None]:
    """The configured Prefect server, or one of our own that ends with this process; it may still be starting.

    Must be entered before Prefect is imported. Raises Problem when a configured server does not answer.
    """
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")
    os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "true")  # so that a night's page has its log
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    prepare()
    url = configured_url()
    if url is not None:
        if not answers(url):
            raise EvalError(
                f"Prefect is configured to use {url}, which does not answer; start that server, or unset "
                "PREFECT_API_URL to have `serve` keep one of its own"
            )
        yield None
        return
    server = Server(lasting=True)
    try:
        with server.in_use():
            yield server
    finally:
        server.stop()


def serve(plan: ServePlan, server: Server | None) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the signal's number.

    Raises UsageError for an invalid schedule, and EvalError when no night can be run.
    """
    check_schedule(plan.cron, plan.timezone)
    if server is None:
        return asyncio.run(_Serving(plan, server).run())
    print_line("starting a Prefect server (8 to 15 seconds; longer the first time) …")
    server.wait()
    with server.secret_file() as path:
        print_line(f"Prefect's page asks for the line that is in {path}, which you alone can read")
        return asyncio.run(_Serving(plan, server).run())


class _Serving:
    """The deployment, the runner of its nights, and what watches both."""

    def __init__(self, plan: ServePlan, server: Server | None) -> None:
        from flows.serving.deployment import NightRuns  # noqa: PLC0415 (Prefect reads its settings when it is imported)

        self._plan = plan
        self._server = server
        self._nights = NightRuns(plan)
        self._stop = asyncio.Event()
        self._signal = 0
        self._next: datetime | None = None

    async def run(self) -> int:
        """Serve until a signal comes; returns its number. Raises EvalError when the runner of nights keeps failing."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end, number)
        await self._nights.deploy()
        print_line(
            f"nightly/{self._plan.name}: {self._plan.cron!r} ({self._plan.timezone}), store {self._plan.store.name}"
        )
        print_line(f"Prefect's page: {self._nights.page()}")
        await self._nights.mark_crashed()
        if self._plan.now:
            await self._nights.begin()
        watching = asyncio.create_task(self._watch())
        n_breaks = 0
        while not self._stop.is_set():
            began = loop.time()
            reason = await self._run_nights(loop)
            n_breaks = 1 if loop.time() - began > LASTED else n_breaks + 1
            await self._after_break(reason, n_breaks)
        await self._look()
        watching.cancel()
        print_line("stopped")
        return self._signal

    def _end(self, number: int) -> None:
        self._signal = number
        self._stop.set()

    async def _run_nights(self, loop: asyncio.AbstractEventLoop) -> str:
        """Run due nights until a signal, or until the runner breaks off (Prefect was unreachable, …); why it did."""
        runner = self._nights.runner(lambda: loop.call_soon_threadsafe(self._end, signal.SIGTERM))
        await self._nights.serve_with(runner)
        running = asyncio.create_task(runner.start())
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not running.done() and runner.started:
            await runner.astop()
        try:
            await asyncio.wait_for(running, STOP_WITHIN)
        except Exception as error:  # whatever broke the runner, nights go on
            return _shorten(error)
        return "it ended by itself"

    async def _after_break(self, reason: str, n_breaks: int) -> None:
        """Wait before another runner is started: longer each time, and until Prefect answers."""
        if self._stop.is_set():
            return
        if n_breaks >= MOST_BREAKS:
            raise EvalError(
                f"the runner of nights broke off {n_breaks} times in a row, the last time with {reason}; no night can "
                "begin: mend that and start `serve` again"
            )
        pause = min(2.0 ** (n_breaks - 1), LONGEST_PAUSE)
        print_line(
            f"the runner of nights broke off ({reason}); starting it anew in {pause:.0f} s, when Prefect answers"
        )
        await self._pause(pause)
        while not self._stop.is_set() and not answers(os.environ.get("PREFECT_API_URL") or configured_url() or ""):
            await self._pause(LOOK_EVERY)
        if not self._stop.is_set():
            with contextlib.suppress(Exception):
                await self._nights.mark_crashed()

    async def _watch(self) -> None:
        """Report the outcome of nights, and keep our own server alive."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._server is not None and (reason := await asyncio.to_thread(self._server.revive)) is not None:
                print_line(f"the Prefect server had ended ({reason}); it is started anew")
            await self._look()

    async def _look(self) -> None:
        """Print what has changed. While Prefect is unreachable nothing is printed; the next call reports it."""
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                for line in await self._nights.ended():
                    print_line(line)
                following = await self._nights.next_start()
        except Exception:  # a server that is being restarted answers in many ways
            return
        if following is not None and following != self._next:
            self._next = following
            print_line(f"next night: {following.astimezone(ZoneInfo(self._plan.timezone)):%a %Y-%m-%d %H:%M %Z}")

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)


def _shorten(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
