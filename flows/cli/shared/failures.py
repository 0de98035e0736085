"""How a command ends when something goes wrong: one sentence on stderr, and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import typer

from compaction import CallsStoppedError
from flows.support.errors import BROKEN, STOPPED, EvalError

_STOPPED = "stopped; what was finished is kept, so the same command goes on from there"


@contextmanager
def exit_codes(*, verbose: bool) -> Iterator[None]:
    """Turn an error raised inside into one sentence and ``typer.Exit``; ``verbose`` also prints the traceback."""
    try:
        yield
    except CallsStoppedError as stop:
        print(f"stopped: {stop}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(STOPPED) from None
    except EvalError as problem:
        print(f"error: {problem}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(problem.exit_code) from None
    except BrokenPipeError:  # the reader of our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN) from None
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        print(_STOPPED, file=sys.stderr)  # noqa: T201
        raise typer.Exit(128 + signal.SIGINT) from None
    except BrokenProcessPool:
        print(  # noqa: T201
            "error: a worker process was ended from outside, most likely for lack of memory; what was finished is "
            "kept, so run the same command again, with --concurrency 1 if memory is short",
            file=sys.stderr,
        )
        raise typer.Exit(BROKEN) from None
    except Exception as error:
        from flows.store.damage import disk_trouble  # brings pyarrow, which not every command needs

        if verbose:
            traceback.print_exc()
        text = " ".join(str(error).split()) or "no message"
        if "Corrupt database file" in text:  # DuckDB's
            print(  # noqa: T201
                f"error: the store's scores.duckdb is damaged ({text}); delete it and run again: it is made anew "
                "from the other files of the store",
                file=sys.stderr,
            )
            raise typer.Exit(BROKEN) from None
        if what := disk_trouble(error):
            print(  # noqa: T201
                f"error: {what} ({text}); what was finished is kept, so mend that and run the same command again",
                file=sys.stderr,
            )
            raise typer.Exit(BROKEN) from None
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(  # noqa: T201
            f"error: {type(error).__name__}: {text} ({Path(place.filename).name}, line {place.lineno}); "
            "what was finished is kept",
            file=sys.stderr,
        )
        raise typer.Exit(BROKEN) from None
    except BaseException as error:
        if type(error).__name__ != "TerminationSignal":  # Prefect's, for SIGTERM
            raise
        print(_STOPPED, file=sys.stderr)  # noqa: T201
        raise typer.Exit(128 + signal.SIGTERM) from None
