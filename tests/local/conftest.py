"""A real language model on this machine, served by ``tests.local.server``."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
CONTEXT = 1024
"""Small, so that too long a prompt is soon made."""


@dataclass(frozen=True)
class LocalServer:
    """A server that is up."""

    base_url: str
    spec: str

    @property
    def anthropic_url(self) -> str:
        """The same server, as Anthropic's clients want its address."""
        return self.base_url.removesuffix("/v1")


@pytest.fixture(scope="session")
def weights() -> Path:
    """A model file of this machine; nothing is fetched for a test."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no runtime for local models: pip install xllamacpp")
    named = os.environ.get("COMPACTION_EVAL_LOCAL_MODEL")
    if not named:
        pytest.skip("no local model: COMPACTION_EVAL_LOCAL_MODEL names a .gguf file")
    assert Path(named).is_file(), f"COMPACTION_EVAL_LOCAL_MODEL={named}: no such file"
    return Path(named).absolute()


@pytest.fixture(scope="session")
def local_server(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """The model behind llama.cpp's server, in a process of its own."""
    log = tmp_path_factory.mktemp("local") / "server.txt"
    command = [sys.executable, "-m", "tests.local.server", str(weights), "--context", str(CONTEXT)]
    with log.open("w") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            yield _wait_for_server(process.stdout, log)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0, log.read_text()


def _wait_for_server(output: IO[str], log: Path) -> LocalServer:
    lines = [output.readline().strip() for _ in range(2)]
    assert lines[0].startswith("export OPENAI_BASE_URL=http://127.0.0.1:"), log.read_text()
    assert lines[1].startswith("--model openai:")
    return LocalServer(lines[0].partition("=")[2], lines[1].removeprefix("--model "))
