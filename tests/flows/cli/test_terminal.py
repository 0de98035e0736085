"""Results on a terminal: groups in colours, and what is longer than the screen in the pager."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flows.reporting.leaderboard import render
from flows.reporting.text_tables import Layout
from tests.flows.conftest import ROOT
from tests.sql.loaded import make_loaded
from tests.sql.tiny import graded

pty = pytest.importorskip("pty")

ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a store with two methods that are told apart, one of them with a name that moves the cursor."""
    means = {f"up{ESCAPE}[2J": 4.0, "down": 1.0}
    scores = {name: {(f"s{i}", "q"): mean + i * mean / 90 for i in range(8)} for name, mean in means.items()}
    return make_loaded(graded(scores), tmp_path_factory.mktemp("terminal"))


def on_terminal(path: Path, lines: int, **environment: str) -> str:
    """What ``leaderboard`` writes to a terminal of so many lines."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 100, 0, 0))
    (path.parent / "store.json").write_text('{"format": 3, "tokenizer": "o200k_base"}')
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PAGER", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-m", "flows", "leaderboard", "--store", str(path.parent)],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm", **environment},
    ):
        os.close(theirs)
        said = b""
        while chunk := _read(ours):
            said += chunk
    os.close(ours)
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the end, as Linux says it
        return b""


def test_groups_have_colours_on_a_terminal_unless_told_not_to(path: Path) -> None:
    shown = on_terminal(path, 60)
    [up] = re.findall(r"\x1b\[(\d+)mup", shown)
    [down] = re.findall(r"\x1b\[(\d+)mdown", shown)
    assert up != down
    assert ESCAPE + "[2J" not in shown, "a name cannot move the cursor"
    assert r"up\x1b[2J" in shown
    assert ESCAPE not in on_terminal(path, 60, NO_COLOR="1")


def test_without_a_terminal_there_are_no_colours(path: Path) -> None:
    assert "\x1b[3" not in render(path)
    assert "\x1b[3" in render(path, layout=Layout(is_coloured=True))


def test_what_is_longer_than_the_screen_is_shown_in_the_pager(path: Path) -> None:
    pager = "sed s/^/PAGED/"
    assert "PAGEDmethod" in on_terminal(path, 8, PAGER=pager, NO_COLOR="1")
    assert "PAGED" not in on_terminal(path, 60, PAGER=pager, NO_COLOR="1")
