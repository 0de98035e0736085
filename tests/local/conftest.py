"""A real language model on this machine, served as ``python -m flows.models.local`` serves it."""

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
        pytest.skip('no runtime for local models: pip install ".[local]"')
    named = os.environ.get("COMPACTION_EVAL_LOCAL_MODEL")
    if named:
        assert Path(named).is_file(), f"COMPACTION_EVAL_LOCAL_MODEL={named}: no such file"
        return Path(named)
    from flows.models.local import MODELS, default_folder

    for model in ("smollm2", "qwen"):  # the quicker one first
        path = default_folder() / MODELS[model].file
        if path.is_file():
            return path
    pytest.skip(
        "no local model: python -m flows.models.local --model smollm2 fetches one (98 MB), "
        "or COMPACTION_EVAL_LOCAL_MODEL names a .gguf file"
    )


@pytest.fixture(scope="session")
def local_server(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """The model behind llama.cpp's server, in a process of its own."""
    log = tmp_path_factory.mktemp("local") / "server.txt"
    command = [sys.executable, "-m", "flows.models.local", "--model", str(weights), "--port", "0", "--threads", "1"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, "--context", str(CONTEXT)], cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            assert process.stdout is not None
            yield _told(process.stdout, log)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0, log.read_text()


def _told(output: IO[str], log: Path) -> LocalServer:
    lines = [output.readline().strip() for _ in range(2)]
    assert lines[0].startswith("export OPENAI_BASE_URL=http://127.0.0.1:"), log.read_text()
    assert lines[1].startswith("--model openai:")
    return LocalServer(lines[0].partition("=")[2], lines[1].removeprefix("--model "))
