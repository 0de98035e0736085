"""The end of a command that fails: one sentence on stderr, and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import typer

from compaction import CallsStoppedError
from flows.support.errors import BROKEN, STOPPED, EvalError

_STOPPED = "stopped; what was finished is kept, so the same command goes on from there"


@contextmanager
def exit_codes(*, verbose: bool, say: Callable[[str, int], None] | None = None) -> Iterator[None]:
    """Turn an error raised inside into one sentence and ``typer.Exit``.

    Args:
        verbose: Print the traceback too.
        say: Called with the sentence and the exit code.
    """
    end = partial(_end, say)
    try:
        yield
    except CallsStoppedError as stop:
        end(f"stopped: {stop}", STOPPED)
    except EvalError as problem:
        end(f"error: {problem}", problem.exit_code)
    except BrokenPipeError:  # the reader of our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN) from None
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        end(_STOPPED, 128 + signal.SIGINT)
    except BrokenProcessPool:
        end(
            "error: a worker process was ended from outside, most likely for lack of memory; what was finished is "
            "kept, so run the same command again, with --concurrency 1 if memory is short",
            BROKEN,
        )
    except Exception as error:
        if verbose:
            traceback.print_exc()
        end(f"error: {_describe(error)}", BROKEN)
    except BaseException as error:
        if type(error).__name__ != "TerminationSignal":  # Prefect's, for SIGTERM
            raise
        end(_STOPPED, 128 + signal.SIGTERM)


def _end(say: Callable[[str, int], None] | None, text: str, code: int) -> NoReturn:
    """Print why the command ends, and end it."""
    print(text, file=sys.stderr)  # noqa: T201
    if say is not None:
        say(text.removeprefix("error: "), code)
    raise typer.Exit(code) from None


def _describe(error: Exception) -> str:
    """Describe an unforeseen error, and its remedy."""
    from flows.store.damage import disk_trouble  # brings pyarrow, which not every command needs

    text = " ".join(str(error).split()) or "no message"
    if "Corrupt database file" in text:  # DuckDB's
        return (
            f"the store's scores.duckdb is damaged ({text}); delete it and run again: it is made anew from the other "
            "files of the store"
        )
    if what := disk_trouble(error):
        return f"{what} ({text}); what was finished is kept, so mend that and run the same command again"
    place = traceback.extract_tb(error.__traceback__)[-1]
    name = Path(place.filename).name
    return f"{type(error).__name__}: {text} ({name}, line {place.lineno}); what was finished is kept"
