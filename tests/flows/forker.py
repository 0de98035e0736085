"""Starts the command often and cheaply: a process that has imported everything, and forks for each start.

``python -m tests.flows.forker`` answers one JSON line for each that it reads (``tests.flows.disturb`` speaks to it). A
child is a process of its own with a session, an environment and files of its own, and its workers are started by it as
ever; what is saved is four seconds of imports and of binding views. Where the system allows it, all of this is in a
mount namespace of its own, so that a test can have a small disk or a read-only one.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
from typing import Any


def _become(order: dict[str, Any]) -> None:
    """The command, in a process that has just been forked."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as at a terminal, however the tests were started
    os.environ.clear()
    os.environ.update(order["env"])
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cores)  # several forkers are at work: not all on the first
    os.sched_setaffinity(0, (cores[first:] + cores[:first])[: order["cores"]])
    for number, name in enumerate((os.devnull, order["out"], order["err"])):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags, 0o644), number)
    if order["most_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["most_bytes"], resource.RLIM_INFINITY))
    if order["fresh"]:
        os.execv(sys.executable, [sys.executable, "-m", "flows", *order["run"]])
    random.seed()
    sys.argv = ["compaction-eval", *order["run"]]
    from flows.__main__ import main

    main()  # ends with SystemExit


def _exit_code(pid: int) -> int | None:
    """The exit code, negative for a signal; None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main() -> None:
    """Serve until stdin ends."""
    orders, answers = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from flows.execution.prefect_server import prepare

    prepare()
    import flows.__main__
    import flows.evaluate  # noqa: F401 (Prefect reads its settings now; the server must be known)
    from flows.database.sql_model import empty_database, schemas

    empty_database()
    schemas()
    print(json.dumps({"ready": os.getpid()}), file=answers, flush=True)
    for line in orders:
        order = json.loads(line)
        if "run" in order:
            answer: Any = os.fork()
            if not answer:
                _become(order)
        elif "ended" in order:
            answer = _exit_code(order["ended"])
        else:
            answer = subprocess.run(order["do"], capture_output=True, text=True, check=False).stderr
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
