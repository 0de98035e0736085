"""Prefect: which server a run talks to, and how to have one at all.

A server that is configured (``PREFECT_API_URL``, or the active profile) is used. Without one, a run has Prefect's API
in its own process (``flows.execution.prefect_in_process``); a run on a cluster, and ``serve``, have a server.

Whoever may send requests to a Prefect server can have the user's own runner carry out any shell command. So a server
that is started here listens on 127.0.0.1 only, and answers nobody without the secret of this start, no page of another
origin, and no request for another host (``flows.execution.prefect_server_process``). The secret is in the environment
of our processes only.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from flows.execution.prefect_server_process import HOST
from flows.support.atomic_files import OWNERS_FILE, OWNERS_UMASK, make_folder
from flows.support.errors import EvalError

START_TIMEOUT = 120.0
"""Seconds that a server may take to start: the first one of a machine makes its database."""
LASTING_START_TIMEOUT = 600.0
"""The same where nobody waits at a terminal, and the machine may just be starting itself."""
USUAL_PORT = 4200
"""Where people look for Prefect."""
BACKLOG = 2_048
"""Connections that wait while it starts, as many as uvicorn's own default."""
STOP_TIMEOUT = 3.0
"""Seconds that it is given to write down its last events."""
LISTEN_TIMEOUT = 0.5
"""Seconds that are waited for the last words of one that has ended."""
HANGS_AFTER = LASTING_START_TIMEOUT
"""Seconds without an answer after which one that lives is taken for one that hangs: as long as it may take to start."""
KEPT_WORDS = 16_384
"""Bytes of what it wrote last that are kept, for whoever wants to know why it ended."""
LONGEST_WORDS = 300
"""Characters of its last line that are told."""


_PASSING = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
    # Nobody looks at the events and task runs of a server that has no page and is gone with the run. While they are
    # written, SQLite refuses other writes, and Prefect's client waits two seconds each time: between two stages, often.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "0",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_ENABLED": "0",
}
_LASTING = {
    # Leases that are in memory are lost with the server, and a night's place is then taken for ever.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
}


def prepare(verbose: bool = False) -> None:
    """Set the environment variables that Prefect reads at its import; variables of the user stay."""
    defaults = {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "INFO" if verbose else "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING" if verbose else "CRITICAL",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "ERROR" if verbose else "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "true" if verbose else "false",
        "PY_KEY_VALUE_DISABLE_BEARTYPE": "true",  # of a package that Prefect imports, whose functions it would wrap
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def prefect_home() -> Path:
    """Return the folder of Prefect's profiles and of its server's database."""
    return Path(os.environ.get("PREFECT_HOME", "~/.prefect")).expanduser()


def configured_url() -> str | None:
    """The API that the user has configured, by environment or by Prefect's active profile."""
    return configured("PREFECT_API_URL")


def configured(name: str) -> str | None:
    """A setting of Prefect's client that the user has made, by environment or by Prefect's active profile."""
    if value := os.environ.get(name):
        return value
    path = Path(os.environ.get("PREFECT_PROFILES_PATH", prefect_home() / "profiles.toml")).expanduser()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    active = os.environ.get("PREFECT_PROFILE", data.get("active"))
    found = data.get("profiles", {}).get(active, {}).get(name)
    return found if isinstance(found, str) else None


def answers(url: str, timeout: float = 5.0) -> bool:
    """Whether a Prefect API is there."""
    if not url.startswith(("http://", "https://")):
        return False
    try:
        request = urllib.request.Request(url.rstrip("/") + "/health")  # noqa: S310 (http or https, see above)
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310
            return bool(response.status == 200)
    except urllib.error.HTTPError as error:
        return error.code in (401, 403)  # it is there; Prefect itself will say that the key is wrong
    except (OSError, ValueError):
        return False


class _Words:
    """The last lines of a process's stderr, which is read for as long as the process lives.

    A pipe that nobody reads takes 64 kB, and whoever writes the next word into it waits for ever.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._end = b""
        self._thread = threading.Thread(target=self._listen, daemon=True, name="prefect-server-words")
        self._thread.start()

    def _listen(self) -> None:
        with self._pipe:
            while words := os.read(self._pipe.fileno(), KEPT_WORDS):
                self._end = (self._end + words)[-KEPT_WORDS:]

    def last(self) -> str:
        """The last line of a process that has ended; empty where it said nothing."""
        self._thread.join(LISTEN_TIMEOUT)
        return "".join(self._end.decode("utf-8", "replace").strip().splitlines()[-1:])[:LONGEST_WORDS]


class Server:
    """A server of our own, started at once and waited for when it is needed.

    ``lasting``: for as long as this process, with everything that a server of one's own has: schedules, and pages.
    """

    def __init__(self, port: int | None = None, *, lasting: bool = False) -> None:
        """Start a server, at a free port unless one is given.

        The address is taken here and handed over, not looked up and hoped for: of two that start at the same time
        each has its own, and one that is started anew still has it. Raises Problem when Prefect's folder cannot
        be made.
        """
        home = prefect_home()
        try:
            make_folder(home)
        except OSError as error:
            raise EvalError(f"Prefect's folder {home} (PREFECT_HOME) cannot be made: {error.strerror}") from None
        self._socket = _listening(port, USUAL_PORT if lasting else 0)
        self.port = int(self._socket.getsockname()[1])
        self._patience = LASTING_START_TIMEOUT if lasting else START_TIMEOUT
        page = f"http://{HOST}:{self.port}"
        self.url = f"{page}/api"
        self.secret = f"compaction-eval:{secrets.token_urlsafe(32)}"
        """What a request must bring, as user and password. It must get into no command line, log or record."""
        self.client_settings = {
            "PREFECT_API_URL": self.url,
            "PREFECT_API_AUTH_STRING": self.secret,
            "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "true",
        }
        """What Prefect's client needs to reach it, as environment variables."""
        self._settings = (_LASTING if lasting else _PASSING) | {
            # Not beside Prefect's code, which is other users' too.
            "PREFECT_UI_STATIC_DIRECTORY": str(home.absolute() / "ui"),
            "PREFECT_SERVER_API_AUTH_STRING": self.secret,
            "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": page,
            "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
            "PREFECT_UI_API_URL": self.url,
            "PREFECT_UI_URL": page,
        }
        self._process = self._launch()
        self._ending = threading.Event()
        self._change = threading.Lock()

    def _launch(self) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
        environment |= self._settings
        process = subprocess.Popen(  # noqa: S603 (our own module)
            [sys.executable, "-m", "flows.execution.prefect_server_process", str(self._socket.fileno())],
            env=environment,
            pass_fds=[self._socket.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the run, which then stops the server in good order
            umask=OWNERS_UMASK,  # its database too is for its owner alone
        )
        assert process.stderr is not None
        self._words = _Words(process.stderr)
        self._started = self._answered = time.monotonic()
        return process

    def revive(self) -> str | None:
        """Start the server again, at the same address, if it has ended or hangs; return the reason, or None."""
        if self._process.poll() is not None:
            reason = self._reason()
        elif answers(self.url):
            self._answered = time.monotonic()
            return None
        elif time.monotonic() - self._answered < HANGS_AFTER:
            return None
        else:
            reason = f"no answer for {time.monotonic() - self._answered:.0f} s"
            self._process.kill()
            self._process.wait()
        return reason if self._start_anew() else None

    def _start_anew(self) -> bool:
        """Follow one that has ended by another, at the same address; not where it was to end."""
        with self._change:
            if not self._ending.is_set():
                self._close_pipe()
                self._process = self._launch()
            return not self._ending.is_set()

    def wait(self) -> float:
        """Wait until it answers; the seconds since its start. Raises Problem when it does not start."""
        while not answers(self.url, timeout=1.0):
            if self._process.poll() is not None:
                raise EvalError(
                    f"the Prefect server did not start: {self._reason()}; its folder is {prefect_home()} "
                    "(PREFECT_HOME); `compaction-eval doctor --prefect` tries it on its own"
                )
            if time.monotonic() - self._started > self._patience:
                raise EvalError(
                    f"the Prefect server did not answer within {self._patience:.0f} s; start one yourself with "
                    "`prefect server start` and set PREFECT_API_URL to it"
                )
            time.sleep(0.1)
        return time.monotonic() - self._started

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Have Prefect's client use it, in this process and in those that it starts."""
        before = {name: os.environ.get(name) for name in self.client_settings}
        os.environ.update(self.client_settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    @contextmanager
    def secret_file(self) -> Iterator[Path]:
        """A file with the secret, for as long as it is used: its page asks people for it."""
        path = prefect_home().absolute() / f"serve-{self.port}.secret"
        path.unlink(missing_ok=True)  # of one that was killed
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE), "w") as file:
            file.write(f"{self.secret}\n")
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def stop(self) -> None:
        """Terminate the server, and kill it if it does not end in time."""
        self._ending.set()
        with self._change:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._close_pipe()
            self._socket.close()

    def _reason(self) -> str:
        """Return the exit code, and the last words on stderr, which may be old."""
        words = self._words.last()
        return f"exit code {self._process.returncode}" + (f", its last words: {words}" if words else "")

    def _close_pipe(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


def _listening(port: int | None, wanted: int) -> socket.socket:
    """A listening socket at the port, or else at the wanted one, or at any if somebody has that.

    It listens at once: two may be bound to the same address, until one does.
    """
    try:
        return socket.create_server((HOST, port or wanted), backlog=BACKLOG)
    except OSError as error:
        if port:
            raise EvalError(f"no Prefect server can listen at {HOST}:{port}: {error.strerror}") from None
        return socket.create_server((HOST, 0), backlog=BACKLOG)


Running = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a flow to its end."""


@contextmanager
def prefect_api(
    *, import_flows: Callable[[], object], ephemeral: bool = False, verbose: bool = False, of_cluster: bool = False
) -> Iterator[Running]:
    """Prefect for the flows inside; gives what runs them.

    Must be entered before Prefect is imported, which reads its settings then. Tasks ``of_cluster`` report from other
    processes, so such a run has a server for its length where none is configured.

    Raises EvalError when the configured server does not answer, or Prefect's database cannot be used.
    """
    prepare(verbose)
    url = None if ephemeral else configured_url()
    if url is None and of_cluster:
        server = Server()
        try:
            with server.in_use():
                import_flows()
                server.wait()
                with _explain_loss(server.url, "see whether memory is short"):
                    yield asyncio.run
        finally:
            server.stop()
        return
    if url is None:
        with _no_collection():
            import_flows()
            from flows.execution.prefect_in_process import run_in_process  # noqa: PLC0415 (imports Prefect)
        yield run_in_process
        return
    if not answers(url):
        raise EvalError(
            f"Prefect is configured to use {url}, which does not answer; start that server, or add --ephemeral "
            "to do without one"
        )
    with _explain_loss(url, "start it"):
        import_flows()
        yield asyncio.run


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no garbage while much is imported: it stays, and to go through it takes a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def is_of_network(error: Exception) -> bool:
    """Whether an error is that of a client of Prefect's server which was not answered."""
    return type(error).__module__.partition(".")[0] in ("httpx", "httpcore") or "Failed to reach API" in str(error)


@contextmanager
def _explain_loss(url: str, advice: str) -> Iterator[None]:
    """Say of a server that has gone in the middle of a run that it has, which Prefect's own errors do not."""
    try:
        yield
    except Exception as error:
        if is_of_network(error) and not answers(url):
            raise EvalError(
                f"the Prefect server at {url} does not answer any more; what was finished is kept: {advice} and run "
                "the same command again, or add --ephemeral to do without one"
            ) from error
        raise
